"""What the tasks of a plan do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.cuda_schedule_parts.engine import Dealt
from bench.cuda_schedule_parts.lookups import FETCH_BYTES, Caches
from bench.cuda_schedule_parts.plan import ROUND_LOADS, Cut, Places, Plan, count_tasks
from bench.cuda_schedule_parts.today import INDEX_BYTES
from gnarl.sw.compiler.cuda.architectures import SECTOR_BYTES
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature

_FLOAT_BYTES = 4


@dataclass(frozen=True)
class WarpWork:
    """What tasks do: arrays [tasks], in the plan's order.

    feature
        whose each is.
    rounds
        times that the warp waits for rows: a round of eight loads of each lane, or as many short
        ones as have eight.
    loads
        of each lane.
    sets
        sets of bags side by side.
    bytes, l2, memory, requests, misses
        as in ``BlockWork``.
    """

    feature: np.ndarray
    rounds: np.ndarray
    loads: np.ndarray
    sets: np.ndarray
    bytes: np.ndarray
    l2: np.ndarray
    memory: np.ndarray
    requests: np.ndarray
    misses: np.ndarray

    def __len__(self) -> int:
        return len(self.feature)


def warp_work(model: EmbeddingModel, plan: Plan, batch: Batch, dealt: Dealt) -> WarpWork:
    """``dealt`` says which multiprocessor's cache a task finds, where that is known before."""
    counts = count_tasks(plan)
    where = _where(dealt, int(counts.sum()))
    caches = Caches(model)
    columns = []
    begin = 0
    for number, count in zip(plan.order, counts.tolist(), strict=True):
        feature, inputs = model.features[number], batch.features[number]
        offsets = inputs.offsets.astype(np.int64)
        cut, places = plan.cuts[number], plan.places[number]
        firsts, lasts = _rows(offsets, cut, places)
        l2, memory = caches.look_up(
            feature.row_bytes, inputs.indices, firsts, lasts, where[begin : begin + count]
        )
        begin += count
        samples = np.repeat(_samples(batch.size, cut), cut.parts)
        values = lasts - firsts
        besides = _besides(feature, values, samples, cut.parts)
        loads, rounds, sets = _rounds(offsets, cut, places)
        if cut.parts > 1:
            loads = -(-values // places.rows)
            rounds, sets = -(-loads // ROUND_LOADS), np.ones(count)
        columns.append(
            (
                np.full(count, number),
                rounds.astype(np.float64),
                loads.astype(np.float64),
                sets.astype(np.float64),
                values * feature.row_bytes + besides,
                l2 + besides,
                memory + besides,
                l2 / max(SECTOR_BYTES, feature.row_bytes),
                memory / max(FETCH_BYTES, feature.row_bytes),
            )
        )
    return WarpWork(*map(np.concatenate, zip(*columns, strict=True)))


def _where(dealt: Dealt, tasks: int) -> np.ndarray:
    """Where tasks will be; those that all may take go round."""
    where = np.arange(tasks) % len(dealt.ends)
    where[dealt.queue] = np.searchsorted(dealt.ends, np.arange(len(dealt.queue)), side="right")
    return where


def _samples(batch: int, cut: Cut) -> np.ndarray:
    """Samples of each run of them."""
    begin = np.arange(0, batch, cut.samples)
    return np.minimum(cut.samples, batch - begin)


def _rows(offsets: np.ndarray, cut: Cut, places: Places) -> tuple[np.ndarray, np.ndarray]:
    """Where each task's indices begin and end."""
    begin = np.arange(0, len(offsets) - 1, cut.samples)
    end = np.minimum(begin + cut.samples, len(offsets) - 1)
    first, last = offsets[begin], offsets[end]
    if cut.parts == 1:
        return first, last
    wholes = -(-(last - first) // places.whole_rows)
    part = np.arange(cut.parts)
    bounds = [
        np.minimum(
            first[:, None] + wholes[:, None] * (part + more) // cut.parts * places.whole_rows,
            last[:, None],
        )
        for more in (0, 1)
    ]
    return bounds[0].ravel(), bounds[1].ravel()


def _besides(feature: Feature, values: np.ndarray, samples: np.ndarray, parts: int) -> np.ndarray:
    """Bytes of indices, offsets and outputs, or of a partial."""
    inputs = INDEX_BYTES * (values + samples)
    if parts > 1:
        return inputs + np.where(values > 0, _FLOAT_BYTES * feature.dim, 0)
    return inputs + feature.output_bytes * samples


def _rounds(
    offsets: np.ndarray, cut: Cut, places: Places
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Loads of a lane, rounds and sets of bags of each task of whole bags."""
    lengths = np.diff(offsets)
    side = min(places.bags, cut.samples)
    sets = -(-cut.samples // side)
    tasks = -(-len(lengths) // cut.samples)
    padded = np.zeros(tasks * sets * side, np.int64)
    padded[: len(lengths)] = lengths
    longest = padded.reshape(tasks, sets, side).max(axis=2)
    loads = -(-longest // places.rows)
    full, rest = np.divmod(loads, ROUND_LOADS)
    rounds = full.sum(axis=1) + -(-_short_turns(rest).sum(axis=1) // ROUND_LOADS)
    used = -(-np.minimum(cut.samples, len(lengths) - cut.samples * np.arange(tasks)) // side)
    return loads.sum(axis=1), rounds, used


def _short_turns(rest: np.ndarray) -> np.ndarray:
    """Loads that tails are issued as: 1, 2, 4 or 8, so that short bags share a round."""
    return np.where(rest == 0, 0, 2 ** np.ceil(np.log2(np.maximum(1, rest))).astype(np.int64))
