"""Reads gpu-burn: errors, rates and temperatures of each card, and what it says of each at the end. gpu-burn 0.9 to 1.1.

Progress is printed over itself with carriage returns, so a physical line may hold thousands of prints. The errors
count from zero again after each "Summary at:" line. A worker that ended has -1 in place of its count.
"""

import re
from dataclasses import dataclass, field
from statistics import median

from steadygpu.evidence.bench import BurnResult
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft, runs

_START = re.compile(r"\s{0,4}(?P<done>\d{1,3}\.\d)%\s{1,9}proc'd: ")
_RATE = re.compile(
    r"\s{0,9}(?P<count>-?\d{1,12})\s{1,9}\((?P<gflops>-?\d{1,9})\s{1,9}Gflop/s\)\s*$"
)
_ERRORS = re.compile(r"\s{0,9}(?P<count>-?\d{1,12})\s{0,9}(?P<note>\((?:WARNING|DIED)!\))?\s*$")
_TEMP = re.compile(r"\s{0,9}(?P<temp>\d{1,3}) C\s*$")
_SPLIT = re.compile(r"(?<=[\s)])-(?=\s)")  # newer versions print "2  (WARNING!)- 0"
_TESTED = re.compile(r"Tested \d{1,4} GPUs:\s*$")
_VERDICT = re.compile(r"\s{0,8}GPU (?P<index>\d{1,4}): (?P<word>OK|FAULTY)\s*$")
_BEGIN = re.compile(r"Burning for \d{1,9} seconds\.?\s*$|Using compare file: ")
_ASIDE = re.compile(
    r"\s{0,8}Summary at: |Killing processes|Initialized device \d|Results are \d|Freed memory for dev|"
    r"Uninitted cublas|done\s*$|No clients are alive|Using compare file: |Burning for \d|Couldn't init a GPU|"
    r"Failure during compute|Run length not specified"
)
_LONGEST = 20_000  # our choice: a print of 256 cards is shorter
_MOST = 256  # our choice: cards of one host
_FEWEST = 4  # our choice: rates from which a quarter can be told apart from another


@dataclass(slots=True)
class _Card:
    """What was printed of one card; each rate once, however often it was printed."""

    errors: int | None = None
    peak: int = 0
    wrong_at: list[int] = field(default_factory=list)
    died_at: list[int] = field(default_factory=list)
    died: bool | None = None
    count: int = 0
    rates: list[tuple[float, float | None]] = field(default_factory=list)
    seen_at: list[int] = field(default_factory=list)
    done: float | None = None
    faulty: bool | None = None
    faulty_at: int | None = None


def read_gpu_burn(lines: Lines) -> Reading:
    """Return one record for each card; a text that begins anew ends it."""
    cards: dict[int, _Card] = {}
    read_to = 0
    ended = False
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if verdict := _VERDICT.match(line):
            card = cards.setdefault(int(verdict["index"]), _Card())
            if card.faulty is not None:
                break
            card.faulty, card.faulty_at = verdict["word"] == "FAULTY", at
            ended = True
        elif read_to and ended and (_BEGIN.match(line) or _START.match(line.lstrip("\r"))):
            break
        elif _TESTED.match(line):
            if ended:
                break
        elif "proc'd: " in line and _START.match(line.lstrip("\r")):
            _prints(cards, line, at)
        elif not ((read_to and _ASIDE.match(line.lstrip("\r"))) or _BEGIN.match(line)):
            break
        read_to = at + 1
    facts = [fact for index in sorted(cards) for fact in _facts(lines, index, cards[index])]
    return Reading(facts=tuple(facts), read_to=read_to if facts or read_to else 0)


def _prints(cards: dict[int, _Card], line: str, at: int) -> None:
    """Take the prints of one physical line; equal ones one after the other say nothing new."""
    last = ""
    for part in line.split("\r"):
        if part == last or not part.strip():
            continue
        last = part
        start = _START.match(part)
        if start is None or len(part) > _LONGEST:
            continue
        done = float(start["done"]) / 100
        head, _, rest = part[start.end() :].partition("errors: ")
        middle, _, tail = rest.partition("temps: ")
        if not middle:
            continue
        rates, errors, temps = (_SPLIT.split(words) for words in (head, middle, tail))
        for index in range(min(max(len(rates), len(errors)), _MOST)):
            card = cards.setdefault(index, _Card())
            card.done = done if done <= 1 else card.done
            if not card.seen_at or card.seen_at[-1] != at:
                card.seen_at.append(at)
            temp = _TEMP.match(temps[index]) if index < len(temps) else None
            if index < len(errors):
                _errors(card, errors[index], at)
            if index < len(rates) and (rate := _RATE.match(rates[index])):
                _rate(card, rate, float(temp["temp"]) if temp else None, at)


def _errors(card: _Card, word: str, at: int) -> None:
    found = _ERRORS.match(word)
    if found is None:
        return
    count = max(int(found["count"]), 0)
    card.died = bool(card.died) or found["note"] == "(DIED!)" or int(found["count"]) < 0
    if found["note"] == "(DIED!)" or int(found["count"]) < 0:
        card.died_at.append(at)
    # The count begins anew after each summary.
    card.errors = count if card.errors is None else card.errors + max(count - card.peak, 0)
    if count < card.peak:
        card.errors += count
    card.peak = count
    if count and (not card.wrong_at or card.wrong_at[-1] != at):
        card.wrong_at.append(at)


def _rate(card: _Card, found: "re.Match[str]", temp: float | None, at: int) -> None:
    count, gflops = int(found["count"]), float(found["gflops"])
    if count < 0:
        card.died = True
        card.died_at.append(at)
    elif count != card.count and gflops > 0:
        card.rates.append((gflops, temp))
    card.count = count


def _facts(lines: Lines, index: int, card: _Card) -> list[Fact]:
    draft = Draft(lines)
    shown = runs(card.seen_at)

    def take(name: str, value: object, places: list[tuple[int, int]]) -> None:
        for first, last in places:
            draft.take(name, value, first, last)

    if card.errors is not None:
        take("errors", card.errors, runs(card.wrong_at) or shown)
    if card.died is not None:
        take("died", card.died, runs(sorted(set(card.died_at))) or shown)
    if card.done is not None:
        take("done_ratio", card.done, shown)
    if card.faulty is not None and card.faulty_at is not None:
        draft.take("faulty", card.faulty, card.faulty_at)
    rates = card.rates[1:]  # the first one holds the start-up
    if len(rates) >= _FEWEST:
        size = len(rates) // 4
        for name, some in (("early", rates[:size]), ("late", rates[-size:])):
            take(f"{name}_gflops", median(rate for rate, _ in some), shown)
            temps = [temp for _, temp in some if temp is not None]
            if temps:
                take(f"{name}_temp_c", median(temps), shown)
    return list(draft.record(BurnResult, DeviceRef(kind="card", index=index, text=lines.name)))
