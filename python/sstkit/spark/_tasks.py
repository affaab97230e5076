"""What a task writes, and the commit of the driver.

    task      rows of a part, sorted ---> an attempt at it, named after the task attempt
              a retry or a speculative copy writes an attempt of its own
    driver    takes the attempts that successful tasks report, no others; the commit proves them,
              publishes them at once, and removes what is left

A data source does not distribute rows: its tasks write sorted runs, which the driver merges into one part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._errors import Error, InvalidInput
from .._native import PartWriter, Plan, Table, commit
from ._routing import PART

if TYPE_CHECKING:
    import pyarrow as pa


# Everything that an entry of a build in parts has.
ENTRY = ("key", "value", "kind", "columns")


@dataclass
class Written:
    """What a successful task reports: its attempt, and the rows of each part."""

    attempt: str
    parts: dict[int, int] = field(default_factory=dict)
    # The paths of the tables of all parts.
    tables: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps({"attempt": self.attempt, "parts": self.parts})

    @classmethod
    def from_json(cls, text: str) -> Written:
        read = json.loads(text)
        return cls(read["attempt"], {int(part): rows for part, rows in read["parts"].items()})

    def finish(self, writer: PartWriter) -> None:
        """Finishes the attempt at a part."""
        report = writer.finish()
        self.tables += [f"{report['folder']}/{file['name']}" for file in report["manifest"]["files"]]


@dataclass(frozen=True)
class PartTask:
    """Writes the rows of a partition. It travels to the executors."""

    # The output directory, whose plan it is.
    out: str
    plan_id: str
    # The names of the columns.
    columns: dict[str, Any]
    # Whether the rows arrive in the order of their keys.
    sorted: bool

    def run(self, batches: Iterable[pa.RecordBatch], attempt: str) -> Written:
        """Writes all rows; those of one part follow each other."""
        plan = Plan(self.out)
        if plan.id != self.plan_id:
            raise InvalidInput(f"{self.out}: the plan of this job was discarded")
        written = Written(attempt)
        writer, current = None, -1
        try:
            for part, rows in by_part(batches):
                if writer is None or part != current:
                    if writer is not None:
                        written.finish(writer)
                    current = part
                    writer = PartWriter(plan, part, attempt, sorted=self.sorted)
                count = writer.write(rows, **self.columns)
                written.parts[part] = written.parts.get(part, 0) + count
            if writer is not None:
                written.finish(writer)
                writer = None
        finally:
            if writer is not None:
                writer.abandon()
        return written


def by_part(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches with rows of one part each. Without the column of parts there is one part."""
    import pyarrow.compute as pc

    for batch in batches:
        if batch.num_rows == 0:
            continue
        if PART not in batch.schema.names:
            yield 0, batch
            continue
        parts = batch.column(PART)
        for part in pc.unique(parts).to_pylist():
            whole = pc.all(pc.equal(parts, part)).as_py()
            yield part, batch if whole else batch.filter(pc.equal(parts, part))


def task_attempt() -> str:
    """The name of this attempt: no other one of the application has it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise Error("not in a task of Spark")
    return f"{context.partitionId()}-{context.taskAttemptId()}"


def commit_tasks(
    out: str, reports: Iterable[Written], *, entries: int | None, verify: bool
) -> dict[str, Any]:
    """Commits what the successful tasks have written, and nothing else. `entries` is the number of rows, if
    they were counted."""
    plan = Plan(out)
    attempts: dict[int, str] = {}
    rows = 0
    for report in reports:
        for part, count in report.parts.items():
            if part in attempts:
                raise InvalidInput(f"two tasks have written rows of part {part}")
            attempts[part] = report.attempt
            rows += count
    # No task had rows of these parts.
    for part in set(range(plan.parts)) - attempts.keys():
        PartWriter(plan, part, "empty").finish()
        attempts[part] = "empty"
    if entries is not None and entries != rows:
        raise Error(f"{entries} rows were counted, but the tasks have written {rows}")
    return commit(out, attempts=attempts, checksums=verify, clean=True)


def runs_of(plan: Plan) -> str:
    """Where tasks write rows that the driver merges. They are no attempts at a part of the plan, which a
    commit could take for all of it; and they are removed with it."""
    return f"{str(plan.path).rstrip('/')}/_sstkit/{plan.id}/runs"


def merge_runs(out: str, reports: Iterable[Written]) -> dict[str, Any]:
    """Merges what the successful tasks have written, in bounded memory, and commits it as the only part."""
    with PartWriter(out, 0, "merged", sorted=False) as writer:
        for path in (path for report in reports for path in report.tables):
            with Table(path) as table:
                writer.write(table.scan(ENTRY, versions=True))
    return commit(out, attempts={0: "merged"}, clean=True)


def discard(out: str) -> None:
    """Removes everything that an unsuccessful job has written, unless its commit has begun."""
    try:
        Plan(out).discard()
    except Error:
        # There is no plan any more, or the next commit completes it.
        pass
