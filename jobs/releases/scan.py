"""Splitting a name into what its words are: version, date, commit, variants, and words nobody knows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

from jobs.releases import numbers, words

_SEPARATORS = "-_.+~"


@dataclass(slots=True, kw_only=True)
class Parts:
    """The words of one name while it is read, left to right."""

    version: Version | None = None
    base: str = ""
    """The release numbers as they are spelled."""
    marks: str = ""
    date: str = ""
    """Eight digits."""
    moment: str = ""
    """The date with the time and the counter of that day's builds: digits that sort as text."""
    commit: str = ""
    is_nightly: bool = False
    is_moving: bool = False
    says_dev: bool = False
    has_month_and_day: bool = False
    is_marked_branch: bool = False
    known: list[str] = field(default_factory=list)
    everything: list[str] = field(default_factory=list)
    """Variants and unknown words in their order; neighbouring unknown words are one."""
    ends_unknown: bool = False
    unknown: list[str] = field(default_factory=list)

    @property
    def is_dev_version(self) -> bool:
        return self.version is not None and self.version.is_devrelease

    @property
    def is_dated(self) -> bool:
        """Whether its date, not its version, says what it is."""
        return bool(self.date) and not self.is_dev_version

    @property
    def has_unknown_words(self) -> bool:
        return bool(self.unknown)

    @property
    def has_named_words(self) -> bool:
        """Whether an unknown word names a model or a branch: most have a number of their own (`glm5`, `fix-v4`)."""
        return any(re.search("[0-9]", word) or words.MODEL.match(word) for word in self.unknown)

    @property
    def is_branch(self) -> bool:
        return self.is_marked_branch or self.has_named_words

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(self.everything)

    @property
    def known_variants(self) -> tuple[str, ...]:
        """The variants of a name that is understood whole, else none."""
        return () if self.unknown else tuple(self.known)

    def add_variant(self, text: str) -> None:
        self.known.append(text)
        self.everything.append(text)
        self.ends_unknown = False

    def add_unknown(self, text: str) -> None:
        if self.ends_unknown:
            text = f"{self.unknown.pop()}-{text}"
            self.everything.pop()
        self.unknown.append(text)
        self.everything.append(text)
        self.ends_unknown = True


def scan_name(name: str, component: str | None) -> Parts:
    """Return the parts of a lower-case name."""
    parts = Parts()
    position = _skip_component(name, component)
    while position < len(name):
        if name[position] in _SEPARATORS:
            position += 1
            continue
        position = (
            _take_date(name, position, parts)
            or _take_version(name, position, parts)
            or _take_mark(name, position, parts)
            or _take_word(name, position, parts)
        )
    return parts


def _skip_component(name: str, component: str | None) -> int:
    """Return where the name goes on behind its component's name, if a version follows; else 0."""
    if not component:
        return 0
    spelled = "[-_.]?".join(re.escape(w) for w in re.split(r"[-_.\s/]+", component.lower()) if w)
    match = re.match(rf"{spelled}[-_.]?(?=v?[0-9])", name)
    return match.end() if match else 0


def _take_date(name: str, position: int, parts: Parts) -> int | None:
    match = words.DATE.match(name, position)
    if match is None:
        return None
    time = re.sub("[^0-9]", "", match["time"] or "").ljust(6, "0")
    parts.date = match["year"] + match["month"] + match["day"]
    parts.moment = f"{parts.date}{time}{int(match['counter'] or 0):03d}"
    parts.ends_unknown = False
    return match.end()


def _take_version(name: str, position: int, parts: Parts) -> int | None:
    """Read the release number: only one, and only where all words before it are known."""
    if parts.base or parts.unknown:
        return None
    product = words.PRODUCT.match(name, position)
    start = product.end() if product else position
    match = words.VERSION.match(name, start) or words.BUILD_NUMBER.match(name, start)
    if match is None or not ("." in match["base"] or match[0][0] == "b" or _stands_alone(match, parts)):
        return None
    parts.base, parts.marks = match["base"], match["marks"]
    parts.version = numbers.read_version(parts.base, parts.marks)
    for word in words.LOCAL_SPLIT.split(match["local"] or ""):
        if word and not words.LOCAL_NOISE.fullmatch(word):
            parts.add_variant(word)
    return match.end()


def _stands_alone(match: re.Match[str], parts: Parts) -> bool:
    """Return whether a number without a dot is the version: first, short, and with no better one behind it."""
    number = match["base"]
    if parts.everything or len(number) > 6 or (number != "0" and number.startswith("0")):
        return False
    return not words.BETTER_NUMBER.search(match.string, match.end())


def _take_mark(name: str, position: int, parts: Parts) -> int | None:
    """Read `rc1` or `dev.1` behind other words: of the release if those are known, else of a branch."""
    match = words.MARK.match(name, position)
    if match is None:
        return None
    if parts.version is None:
        if match["kind"] != "dev":
            return None
        parts.says_dev = True
        return match.end()
    try:
        version = numbers.read_version(parts.base, f"{parts.marks}.{match[0]}")
    except InvalidVersion:
        return None
    parts.is_marked_branch = bool(parts.unknown)
    parts.version, parts.marks = version, f"{parts.marks}.{match[0]}"
    parts.ends_unknown = False
    return match.end()


def _take_word(name: str, position: int, parts: Parts) -> int:
    """Read one word, with the number of its own that may follow it."""
    match = words.WHOLE.match(name, position) or words.WORD.match(name, position)
    assert match is not None, f"no word at {position} of {name!r}"
    word, end = match[0], match.end()
    if words.TOOL.fullmatch(word) or (parts.version is not None and word in words.PRODUCTS):
        number = words.TOOL_NUMBER.match(name, end)
        if number:
            parts.add_variant(name[position : number.end()])
            return number.end()
    _sort_word(word, parts)
    return end


def _sort_word(word: str, parts: Parts) -> None:
    """Put one word where it belongs."""
    behind_version = parts.version is not None
    if word in words.NIGHTLY:
        parts.is_nightly = True
    elif word in words.MOVING:
        parts.is_moving = True
    elif word in words.COMMIT_WORDS:
        pass
    elif words.COMMIT.fullmatch(word):
        parts.commit = word
    elif words.VARIANT.fullmatch(word) or (behind_version and word in words.PRODUCTS):
        parts.add_variant(word)
    elif not behind_version and (word in words.PRODUCTS or (word in words.PREFIXES and not parts.everything)):
        pass
    elif (behind_version or parts.is_nightly) and words.MONTH_AND_DAY.fullmatch(word) and not parts.ends_unknown:
        parts.has_month_and_day = True
    elif words.PLAIN_NUMBER.fullmatch(word) and not parts.ends_unknown:
        parts.add_variant(word)
    else:
        parts.add_unknown(word)
