"""Every case folder: the outcome it names, exact quotes, proof by removal, and blanking."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from pipeline import evidence, folder, report, verdicts
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules import SUBJECTS, rules_of
from steadygpu.verdict.rule import Finding, Fine

CASES = Path(__file__).parent / "cases"
FOLDERS = sorted(p for p in CASES.glob("*/*") if p.is_dir() and "--" in p.name)
IDS = [f"{p.parent.name}/{p.name}" for p in FOLDERS]
RULES = [r for module in SUBJECTS for r in rules_of(module)]


def outcomes(texts: dict[str, str | bytes], rule_id: str) -> set[str]:
    return {v[rule_id].outcome for host in evidence(texts) if rule_id in (v := verdicts(host))}


@pytest.mark.parametrize("case", FOLDERS, ids=IDS)
def test_a_case_has_the_outcome_its_name_says(case: Path) -> None:
    wanted = case.name.partition("--")[0]
    seen = outcomes(folder(case), case.parent.name)
    if wanted == "fail":
        assert "fail" in seen
    else:
        assert seen
        assert seen <= {wanted, "n/a"} if wanted == "pass" else wanted in seen


@pytest.mark.parametrize("rule", RULES, ids=[r.id for r in RULES])
def test_each_rule_has_cases_of_all_three_outcomes(rule) -> None:  # type: ignore[no-untyped-def]
    names = {p.name.partition("--")[0] for p in (CASES / rule.id).glob("*--*")}
    assert {"fail", "pass", "unknown"} <= names
    assert (CASES / rule.id / "origin.txt").read_text().strip()


def without(texts: dict[str, str | bytes], sources: tuple[Source, ...]) -> dict[str, str | bytes]:
    out = dict(texts)
    gone: dict[str, set[int]] = {}
    for source in sources:
        gone.setdefault(source.name, set()).update(range(source.first, source.last + 1))
    for name, numbers in gone.items():
        body = out[name]
        assert isinstance(body, bytes)
        lines = body.decode("utf-8", "replace").split("\n")
        out[name] = "\n".join(ln for i, ln in enumerate(lines, 1) if i not in numbers).encode()
    return out


@pytest.mark.parametrize("case", FOLDERS, ids=IDS)
def test_quotes_are_exact_and_removing_cited_lines_removes_the_finding(case: Path) -> None:
    texts = folder(case)
    for host in report(texts).hosts:
        for one in host.findings:
            for source in one.finding.sources:
                body = texts[source.name]
                assert isinstance(body, bytes)
                stood = body.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
                quoted = source.quote.split("\n")
                if len(quoted) > 1 or len(quoted[0]) < 400:
                    assert all(line in stood for line in quoted)
                assert source.quote.split("\n")[0][:400] in stood[source.first - 1 : source.last][0]
            if one.rule.id == "silent.check-not-evaluated":
                continue
            # A log repeats an event, and its reader takes the repeats as that one event: each
            # must go before the finding does. Every step removes lines that a finding cites.
            steps = 5 if one.rule.needs[0].record.nature == "event" else 1
            left, again = texts, [one]
            for _ in range(steps):
                left = without(left, again[0].finding.sources)
                again = [
                    other
                    for after in report(left).hosts
                    for other in after.findings
                    if other.rule.id == one.rule.id and other.finding.subject == one.finding.subject
                ]
                if not again:
                    break
            assert not again, f"{one.rule.id} stands without its lines"


@pytest.mark.parametrize("case", FOLDERS, ids=IDS)
def test_blanking_a_field_creates_no_finding_and_turns_nothing_fine(case: Path) -> None:
    for host in evidence(folder(case)):
        before = verdicts(host)
        failed = {
            (i, s.subject) for i, v in before.items() for s in v.seen if isinstance(s, Finding)
        }
        fine = {(i, s.subject) for i, v in before.items() for s in v.seen if isinstance(s, Fine)}
        for at, fact in enumerate(host.facts):
            for field in fields(fact):  # type: ignore[arg-type]
                value = getattr(fact, field.name)
                if field.name in FRAME or field.default is not None or value is None:
                    continue
                gone = Absent(field=field.name, reason="not_printed")
                blank = replace(fact, **{field.name: None}, absent=(*fact.absent, gone))  # type: ignore[type-var]
                facts = (*host.facts[:at], blank, *host.facts[at + 1 :])
                for rule_id, verdict in verdicts(replace(host, facts=facts)).items():
                    assert verdict.outcome != "broken", f"{rule_id}: {verdict.error}"
                    for seen in verdict.seen:
                        where = (rule_id, seen.subject)
                        if isinstance(seen, Finding):
                            assert where in failed, f"{rule_id} by blanking {field.name}"
                        if isinstance(seen, Fine):
                            assert where in fine, f"{rule_id} fine by blanking {field.name}"


FRAME = {"device", "at", "absent", "sources", "count", "last_at", "first", "last"}


@pytest.mark.parametrize("case", FOLDERS, ids=IDS)
def test_names_and_order_of_files_change_nothing(case: Path) -> None:
    from pipeline import found

    texts = folder(case)
    if any("/" in name for name in texts):
        pytest.skip("folders name hosts")
    renamed = {f"x{i}.log": body for i, (_, body) in enumerate(reversed(texts.items()))}
    assert found(report(renamed)) == found(report(texts))


MANY = [c for c in FOLDERS if len(list(c.glob("*.txt"))) > 1 and not any(c.glob("*/"))]


@pytest.mark.parametrize("case", MANY, ids=[f"{c.parent.name}/{c.name}" for c in MANY])
def test_one_file_with_all_texts_gives_the_same(case: Path) -> None:
    from pipeline import found

    texts = folder(case)
    bodies = [body.rstrip(b"\n") for body in texts.values() if isinstance(body, bytes)]
    together = b"\n\n".join(bodies) + b"\n"
    assert found(report({"all.txt": together})) == found(report(texts))
    backwards = b"\n\n".join(reversed(bodies)) + b"\n"
    assert found(report({"all.txt": backwards})) == found(report(texts))
