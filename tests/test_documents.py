"""The documents tell the truth: commands exist, links lead somewhere, every setting is described."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
import typer
from pydantic import BaseModel

from tracker.cli.__main__ import make_app
from tracker.setting_tables import (
    DockerHostSettings,
    DockerSettings,
    HealthSettings,
    KubernetesSettings,
    RegistrySettings,
    ReleaseNotesSettings,
    RuleSettings,
    SlackSettings,
    SlurmSettings,
    SourceSettings,
)
from tracker.settings import Settings

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```[a-z]*\n(.*?)^\s*```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
#: What has no place in finished documents: notes to oneself, and a home folder of whoever wrote them.
PRIVATE = re.compile(r"/(root|home/[a-z]+)/|\bTODO\b|\bFIXME\b", re.I)


def tracked(*patterns: str) -> list[str]:
    done = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


DOCUMENTS = [name for name in tracked("*.md") if "/golden/" not in name]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def commands_in(text: str) -> set[str]:
    """Return the lines that call `tracker`, from fences and from inline code."""
    lines = [line.strip() for block in FENCE.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    lines += [code.strip() for code in INLINE.findall(FENCE.sub("", text))]
    stripped = [re.sub(r"^(\$ )?([A-Z_]+=\S* )*", "", line) for line in lines]
    return {line for line in stripped if re.match(r"tracker($| +[a-z-])", line)}


def problem_of(line: str) -> str | None:
    """Return what is wrong with a command line: a command or an option that does not exist."""
    words = shlex.split(line.split(" | ")[0].split(" > ")[0], comments=True)[1:]
    command: click.Command = typer.main.get_command(make_app())
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        for name in words[0].split("|"):
            if name not in command.commands:
                return f"no command {name!r}"
        command = command.commands[words.pop(0).split("|")[0]]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
    unknown = [word for word in words if word.startswith("--") and word.split("=")[0].strip("[]") not in known]
    return f"no option {unknown[0]}" if unknown else None


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_in_documents_exist(name: str):
    wrong = {line: problem for line in commands_in(text_of(name)) if (problem := problem_of(line))}
    assert wrong == {}


def test_the_check_of_commands_finds_what_does_not_exist():
    assert problem_of("tracker nonsense list") == "no command 'nonsense'"
    assert problem_of("tracker serve --nonsense") == "no option --nonsense"
    assert problem_of("tracker serve --open") is None


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_to_files_lead_somewhere(name: str):
    links = [link.split("#")[0] for link in LINK.findall(FENCE.sub("", text_of(name)))]
    local = [link for link in links if link and "://" not in link and not link.startswith("mailto:")]
    assert [link for link in local if not (ROOT / name).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_have_a_title_and_close_their_fences(name: str):
    text = text_of(name)
    assert text.startswith(("# ", "<")), f"{name} begins with {text[:30]!r}"
    assert len(re.findall(r"^\s*```", text, re.MULTILINE)) % 2 == 0


def settings_of(model: type[BaseModel], prefix: str = "") -> list[str]:
    return [f"{prefix}{name}" for name in model.model_fields]


@pytest.mark.parametrize(
    "setting",
    [
        *settings_of(Settings),
        *settings_of(SlackSettings, "slack."),
        *settings_of(DockerSettings, "docker."),
        *settings_of(DockerHostSettings, "docker.hosts."),
        *settings_of(SlurmSettings, "slurm."),
        *settings_of(KubernetesSettings, "kubernetes."),
        *settings_of(HealthSettings, "health."),
        *settings_of(SourceSettings, "sources."),
        *settings_of(RegistrySettings, "registries."),
        *settings_of(ReleaseNotesSettings, "release_notes."),
        *settings_of(RuleSettings, "rules."),
    ],
)
def test_every_setting_is_described_in_the_guide(setting: str):
    guide = "\n".join(text_of(name) for name in tracked("tracker/guide/*.md"))
    assert guide, "tracker/guide has no documents yet"
    name = setting.rpartition(".")[2]
    assert re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", guide), f"`{name}` is not in tracker/guide"


@pytest.mark.parametrize("name", tracked("*.md", "*.py", "*.toml", "*.html", "*.js", "Makefile", ".ci/*", "docker/*"))
def test_nothing_private_is_published(name: str):
    if name == "tests/test_documents.py":
        return
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for number, line in enumerate(text_of(name).splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert found == []
