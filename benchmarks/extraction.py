"""What the rule extractor and the default policy make of conversation files, and what a turn costs.

Usage: ``python benchmarks/extraction.py FILE... [--sample N] [--seed S]``. A file holds one JSON object a line with
``user``, ``role``, ``text`` and ``at``.
Costs are processor time, so that busy neighbours do not count. Memories are told apart as the resolver does: by
namespace, key and conditions.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median

from consumers.extractor.rules import extract
from policy.document import Policy, load_policy
from policy.gate import evaluate
from policy.screening import screen
from schemas.records import Draft, Segment, Spoken, Verdict
from schemas.words import Outcome, Role


@dataclass
class Tally:
    """What one file yielded."""

    turns: int = 0
    user_turns: int = 0
    accepting_turns: int = 0
    drafts: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    memories: dict[tuple[object, ...], Draft] = field(default_factory=dict)
    screen_us: list[float] = field(default_factory=list)
    extract_us: list[float] = field(default_factory=list)
    assistant_us: list[float] = field(default_factory=list)
    gate_us: list[float] = field(default_factory=list)


def measure(lines: Iterable[str], policy: Policy) -> Tally:
    """Screen, extract and judge every line."""
    tally = Tally()
    for line in lines:
        row = json.loads(line)
        spoken, cost = _timed_screen(row)
        tally.turns += 1
        tally.screen_us.append(cost)
        begun = time.thread_time_ns()
        drafts = extract(spoken)
        spent = (time.thread_time_ns() - begun) / 1000
        is_user = spoken.role is Role.USER
        tally.user_turns += is_user
        (tally.extract_us if is_user else tally.assistant_us).append(spent)
        _judge(tally, row["user"], drafts, policy)
    return tally


def _timed_screen(row: dict[str, str]) -> tuple[Spoken, float]:
    begun = time.thread_time_ns()
    text = screen(row["text"]).text
    cost = (time.thread_time_ns() - begun) / 1000
    at = datetime.fromisoformat(row["at"])
    return Spoken(Role(row["role"]), (Segment(text),), at, None, row["conversation"]), cost


def _judge(tally: Tally, user: str, drafts: Sequence[Draft], policy: Policy) -> None:
    accepted = False
    for draft in drafts:
        begun = time.thread_time_ns()
        verdict = evaluate(policy, draft)
        tally.gate_us.append((time.thread_time_ns() - begun) / 1000)
        tally.drafts += 1
        tally.outcomes[_label(verdict)] += 1
        tally.rules[draft.rule] += 1
        if verdict.outcome is Outcome.ACCEPT and not draft.ends:
            accepted = True
            content = draft.content
            tally.memories[(user, content.namespace, content.key, content.conditions)] = draft
    tally.accepting_turns += accepted


def _label(verdict: Verdict) -> str:
    return f"{verdict.outcome}: {verdict.rule} ({', '.join(verdict.reasons)})"


def report(name: str, tally: Tally, sample: int, seed: int) -> None:
    """Print the table of one file."""
    share = 100 * tally.accepting_turns / max(1, tally.user_turns)
    print(f"\n{name}")
    print(f"  turns {tally.turns}, of users {tally.user_turns}, drafts {tally.drafts}")
    print(f"  distinct memories {len(tally.memories)}, from {tally.accepting_turns} user turns ({share:.2f} %)")
    for label, count in tally.outcomes.most_common():
        print(f"  {count:6d}  {label}")
    print("  by rule: " + ", ".join(f"{rule} {count}" for rule, count in tally.rules.most_common()))
    for label, costs in _costs(tally):
        if costs:
            print(
                f"  {label}: median {median(costs):.1f}, mean {sum(costs) / len(costs):.1f}, worst {max(costs):.0f} us"
            )
    chosen = random.Random(seed).sample(sorted(tally.memories, key=str), min(sample, len(tally.memories)))
    for number, key in enumerate(chosen, 1):
        draft = tally.memories[key]
        until = f" until {draft.expires_at:%Y-%m-%d}" if draft.expires_at else ""
        print(
            f"  {number:3d} {draft.type} {draft.content.key} = {draft.content.value} [{draft.polarity}]{until}"
            f" {draft.content.conditions or ''}"
        )
        print(f"      {draft.content.quote}")


def _costs(tally: Tally) -> tuple[tuple[str, list[float]], ...]:
    return (
        ("screening, a turn", tally.screen_us),
        ("extraction, a user turn", tally.extract_us),
        ("extraction, another turn", tally.assistant_us),
        ("gate, a draft", tally.gate_us),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="print that many memories of each file")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    policy = load_policy()
    for path in given.files:
        with path.open(encoding="utf-8") as lines:
            report(path.name, measure(lines, policy), given.sample, given.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
