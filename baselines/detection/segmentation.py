"""Cutting rows of releases into levels: sums over segments, and the exact search for candidate cuts.

Loaded at the first detection (NumPy). A cut is the place of the first release of a new level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.detection.rows import Bools, Floats, Ints, pick, sum_up

EXACT = 160
"""Rows up to so many releases are searched at every place; longer ones where some window sees a step."""
WINDOW_GAIN = 4.0
"""Squared z a step must reach in some window to be a candidate in a long row (two standard errors)."""
BLOCK = 8192
"""Releases whose neighbours are sorted at a time: as many as stay in the processor's cache."""
OUTLIER_SHARE = 0.05
"""Share of releases that may be outliers, when asking how long a run of them chance makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Cuts of some series and the segments between them, laid out series after series."""

    first: Ints
    end: Ints
    owner: Ints
    """Of each segment: first release, one past the last, series."""

    @property
    def inner(self) -> Ints:
        """Return the segments that follow another one of their series: one per cut, in order."""
        return np.flatnonzero(self.owner[1:] == self.owner[:-1]) + 1


class Sums:
    """Running sums over the rows, so that level and misfit of any segment cost a few subtractions.

    Values are in units of the noise. `clipped` releases are drawn to the running median of their neighbours, as far
    as the cap: an outlier then costs a bounded amount, as with the biweight loss of Fearnhead and Rigaill (2019),
    "Changepoint detection in the presence of outliers".
    """

    def __init__(self, raw: Floats, weights: Floats, cap: Floats, starts: Ints, owner: Ints, repeats: Ints) -> None:
        middle = run_median(raw, starts)
        limit = np.where(np.diff(starts)[owner] >= 5, np.sqrt(cap / weights), np.inf)
        reach = limit.copy()
        for first, second in ((starts[:-1], starts[:-1] + 1), (starts[1:] - 2, starts[1:] - 1)):
            widen_pairs(reach, raw - middle, first[np.diff(starts) >= 5], second[np.diff(starts) >= 5])
        values = np.clip(raw, middle - reach, middle + reach)
        reference = middle[np.minimum(starts[:-1], max(len(raw) - 1, 0))][owner] if len(raw) else raw
        self.starts, self.owner, self.weights, self.limit = starts, owner, weights, limit
        self.raw, self.values = raw - reference, values - reference
        self.reference, self.repeats = reference, repeats
        self.clipped: Bools = np.abs(raw - values) > 1e-9
        self._sum(starts)

    def _sum(self, starts: Ints) -> None:
        values, weights = self.values, self.weights
        link = np.sqrt(weights[1:] * weights[:-1])
        self.link = np.concatenate([np.zeros(min(1, len(values))), link])
        self.link[starts[:-1][np.diff(starts) > 0]] = 0
        columns = np.empty((6, len(values)))
        columns[0] = weights
        np.multiply(weights, values, out=columns[1])
        np.multiply(columns[1], values, out=columns[2])
        columns[3] = self.link
        before = np.concatenate([np.zeros(min(1, len(values))), values[:-1]])
        np.multiply(self.link, values + before, out=columns[4])
        np.multiply(self.link, values * before, out=columns[5])
        self.total = sum_up(columns, starts)

    def weigh(self, first: Ints, end: Ints, owner: Ints) -> Floats:
        """Return the sum of weights of each segment."""
        return np.asarray(self.total[0][end + owner] - self.total[0][first + owner])

    def levels(self, first: Ints, end: Ints, owner: Ints) -> Floats:
        """Return the weighted mean of each segment."""
        weight, value = (column[end + owner] - column[first + owner] for column in self.total[:2])
        return np.asarray(value / weight)

    def misfit(self, first: Ints, end: Ints, owner: Ints) -> Floats:
        """Return the weighted sum of squares of each segment around its mean."""
        weight, value, square = (column[end + owner] - column[first + owner] for column in self.total[:3])
        return np.asarray(np.maximum(square - value**2 / weight, 0))

    def echo(self, first: Ints, end: Ints, owner: Ints, levels: Floats) -> Floats:
        """Return the sum over each segment of products of neighbouring deviations from its level."""
        start = np.minimum(first + 1, end) + owner
        link, both, product = (column[end + owner] - column[start] for column in self.total[3:])
        return np.asarray(product - levels * both + levels * levels * link)

    def line_misfit(self, first: Ints, end: Ints) -> Floats:
        """Return the weighted sum of squares of each segment, none empty, around its best straight line."""
        sizes = end - first
        begin = np.cumsum(sizes) - sizes
        step = np.arange(sizes.sum()) - np.repeat(begin, sizes)
        inside = np.repeat(first, sizes) + step
        weight, value = self.weights[inside], self.values[inside]
        total = np.add.reduceat(weight, begin)
        flat = value - np.repeat(np.add.reduceat(weight * value, begin) / total, sizes)
        place = step - np.repeat(np.add.reduceat(weight * step, begin) / total, sizes)
        across, along = (np.add.reduceat(weight * place * one, begin) for one in (place, flat))
        steep = np.where(across > 1e-9, along * along / np.maximum(across, 1e-9), 0)
        return np.asarray(np.maximum(np.add.reduceat(weight * flat * flat, begin) - steep, 0))


def widen_pairs(reach: Floats, away: Floats, first: Ints, second: Ints) -> None:
    """Let two releases at an end of their row count as far as both of them reach: two that agree are no outliers."""
    lesser = np.where(away[first] * away[second] > 0, np.minimum(np.abs(away[first]), np.abs(away[second])), 0)
    for place in (first, second):
        reach[place] = np.maximum(reach[place], lesser)


def half_window(lengths: Ints) -> Ints:
    """Return how many releases in a row may be outliers, for rows of these lengths; at least two.

    Smallest h for which h + 1 outliers among 2h + 1 neighbours are expected less than once in twenty rows.
    """
    half = np.full(len(lengths), 2)
    for tried, ways in ((2, 10), (3, 35), (4, 126)):
        half[lengths * ways * OUTLIER_SHARE ** (tried + 1) > 0.05] = tried + 1
    return half


def run_median(values: Floats, starts: Ints) -> Floats:
    """Return the median of each release and its neighbours, as many on the one side as are missing on the other."""
    lengths = np.diff(starts)
    half = half_window(lengths)
    found = np.empty(len(values))
    for width in np.unique(half):
        chosen = np.flatnonzero(half == width)
        places, _ = pick(starts, chosen)
        start, length = np.repeat(starts[chosen], lengths[chosen]), np.repeat(lengths[chosen], lengths[chosen])
        low = start + np.clip(places - start - width, 0, np.maximum(length - 2 * width - 1, 0))
        last = start + length - 1
        for begin in range(0, len(places), BLOCK):
            some = slice(begin, begin + BLOCK)
            near = np.stack([values[np.minimum(low[some] + step, last[some])] for step in range(2 * width + 1)])
            near.partition(width, axis=0)
            found[places[some]] = near[width]
    return found


def make_cut(cuts: Ints, owner: Ints, chosen: Ints, starts: Ints) -> Cut:
    """Return the segments that the cuts make of the `chosen` series (ascending); the cuts are all in those."""
    first = np.concatenate([starts[chosen], cuts])
    whose = np.concatenate([chosen, owner[cuts]])
    order = np.argsort(first, kind="stable")
    first, whose = first[order], whose[order]
    end = np.append(first[1:], 0)[: len(first)]
    last = np.append(whose[1:] != whose[:-1], True)[: len(first)]
    end[last] = starts[whose[last] + 1]
    return Cut(first=first, end=end, owner=whose)


def propose_cuts(sums: Sums, penalty: Floats) -> Ints:
    """Return cuts that minimise misfit plus `penalty` per cut; ascending. More than will stand, if it is low.

    Optimal partitioning (Jackson et al. 2005), for many series of about one length at a time.
    """
    starts = sums.starts
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] >= 2]
    found = [np.zeros(0, np.int64)]
    while len(order):
        shortest = int(lengths[order[0]])
        size = min(max(1, 16000 // shortest), int(np.searchsorted(lengths[order], 1.25 * shortest + 2, side="right")))
        chosen, order = order[:size], order[size:]
        if shortest > EXACT:
            found += [starts[one] + search_long(sums, penalty, one) for one in chosen]
        else:
            found.append(search_block(sums, penalty, chosen))
    return np.sort(np.concatenate(found))


def search_block(sums: Sums, penalty: Floats, chosen: Ints) -> Ints:
    """Return the cuts of series that are searched at every place."""
    starts, lengths = sums.starts, np.diff(sums.starts)[chosen]
    steps = np.minimum(np.arange(lengths.max() + 1)[:, None], lengths)
    weight, value = sums.total[:2, (starts[chosen] + chosen)[None, :] + steps]
    places = starts[chosen] + np.minimum(steps, lengths - 1)
    column, node = partition(weight, value, penalty[places], lengths)
    return np.asarray(starts[chosen[column]] + node)


def search_long(sums: Sums, penalty: Floats, series: int) -> Ints:
    """Return the cuts of one long series, from its start, among the steps that some window sees."""
    start, end = int(sums.starts[series]), int(sums.starts[series + 1])
    weight, value = sums.total[:2, start + series : end + series + 1]
    gain = find_window_gains(weight, value)
    count = end - start
    gain[max(1, count - 16) : count] = np.inf
    kept = np.flatnonzero(gain > 0)
    if len(kept) > EXACT:
        kept = np.sort(kept[np.argsort(-gain[kept], kind="stable")[: max(EXACT, count // 64)]])
    nodes = np.concatenate([[0], kept, [count]])
    costs = penalty[start + np.minimum(nodes, count - 1)][:, None]
    _, node = partition(weight[nodes][:, None], value[nodes][:, None], costs, np.array([len(nodes) - 1]))
    return np.asarray(nodes[node])


def find_window_gains(weight: Floats, value: Floats) -> Floats:
    """Return per place the largest squared z of a step there between equal windows, 0 unless the best around."""
    count = len(weight) - 1
    best = np.zeros(count + 1)
    places = np.arange(1, count)
    size = 2
    while size <= count // 2:
        left, right = np.maximum(places - size, 0), np.minimum(places + size, count)
        before, after = weight[places] - weight[left], weight[right] - weight[places]
        step = (value[right] - value[places]) / after - (value[places] - value[left]) / before
        gain = step * step * before * after / (before + after)
        around = max(1, size // 2)
        padded = np.concatenate([np.zeros(around), gain, np.zeros(around)])
        peak = slide_max(padded, around + 1)
        highest = np.maximum(peak[: len(gain)], peak[around:])
        best[1:count] = np.maximum(best[1:count], np.where((gain >= highest) & (gain > WINDOW_GAIN), gain, 0))
        size = size + max(1, size * 3 // 5)
    return best


def slide_max(values: Floats, width: int) -> Floats:
    """Return the maximum of each run of `width` values, by doubling."""
    done = 1
    while done < width:
        step = min(done, width - done)
        values = np.maximum(values[:-step], values[step:])
        done += step
    return values


def partition(weight: Floats, value: Floats, penalty: Floats, last: Ints) -> tuple[Ints, Ints]:
    """Return column and node of each cut of least cost; inputs are running sums at nodes (rows) of series (columns).

    The least cost up to a node is that up to the node of the last cut, its penalty, and the misfit of the segment
    between, of which only the part that depends on the cut is kept: minus (sum of values)^2 / weight.
    """
    cost, gains, spans = np.zeros_like(weight), np.empty_like(weight), np.empty_like(weight)
    for node in range(1, len(weight)):
        gain = np.subtract(value[node], value[:node], out=gains[:node])
        gain *= gain
        span = np.subtract(weight[node], weight[:node], out=spans[:node])
        gain /= np.maximum(span, 1e-12, out=span)
        np.subtract(cost[:node], gain, out=gain)
        np.add(gain.min(axis=0), penalty[node], out=cost[node])
    return walk_back(weight, value, cost, last)


def walk_back(weight: Floats, value: Floats, cost: Floats, last: Ints) -> tuple[Ints, Ints]:
    """Return column and node of each cut, found from the last node of each column backwards."""
    node, column = last.copy(), np.arange(weight.shape[1])
    places = np.arange(len(weight))[:, None]
    columns, nodes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    while len(column):
        gain = (value[node, column] - value[:, column]) ** 2
        gain /= np.maximum(weight[node, column] - weight[:, column], 1e-12)
        total = np.where(places < node, cost[:, column] - gain, np.inf)
        node = np.argmin(np.round(total, 7), axis=0)
        column, node = column[node > 0], node[node > 0]
        columns.append(column)
        nodes.append(node)
    return np.concatenate(columns), np.concatenate(nodes)
