"""One page of Markdown for each rule: what it means, what it asks for, and how it decides."""

from collections.abc import Callable, Iterable

from steadygpu.verdict.rule import Rule, Stage

_HOW = {
    "one": "for each device", "all": "of the whole host", "mine": "of the same device",
    "log": "in order", "trend": "at known moments", "maybe": "where given",
}  # fmt: skip


def rule_page(rule: Rule, ask: Callable[[str], str | None]) -> str:
    """Return the page of a rule. `ask` gives the command that prints records of a class."""
    lines = [f"# {rule.id}", "", f"{rule.title}.", "", rule.meaning, ""]
    lines += [
        f"- **Severity** at most {rule.severity}",
        f"- **Action** {rule.action}",
        f"- **Scope** {rule.scope}",
    ]
    lines += [f"- **Bottleneck** it points to: {rule.points_to}"] if rule.points_to else []
    lines += [f"- **Once called** {', '.join(rule.aliases)}"] if rule.aliases else []
    lines += ["", "## What to do", "", rule.decision, "", f"Next step: {rule.next_step}", ""]
    if doc := (rule.check.__doc__ or "").strip() if rule.needs else "":
        lines += ["## How it decides", "", *(line.strip() for line in doc.split("\n")), ""]
    if asked := list(_needs(rule, ask)):
        lines += ["## What it reads", "", *asked, ""]
    lines += ["## Sources", "", *(f"- {one}" for one in rule.references), ""]
    return "\n".join(lines)


def rule_index(rules: Iterable[Rule]) -> str:
    """Return the list of all rules, by stage and id."""
    lines = [
        "# Rules",
        "",
        "Made by `make docs` from the rules themselves. Each page says what a finding means.",
        "",
    ]
    stage: Stage | None = None
    for rule in sorted(rules, key=lambda one: (list(Stage).index(one.stage), one.id)):
        if rule.stage is not stage:
            stage = rule.stage
            lines += [f"## {stage.value}", ""]
        lines += [f"- [{rule.id}]({rule.id}.md): {rule.title} ({rule.severity})"]
    return "\n".join([*lines, ""]).replace("\n\n\n", "\n\n")


def _needs(rule: Rule, ask: Callable[[str], str | None]) -> Iterable[str]:
    for need in rule.needs:
        if need.record is None:
            yield "- whether the log of this boot was given whole"
            continue
        name = need.record.__name__
        command = ask(name)
        yield f"- {name}, {_HOW[need.how]}" + (f": `{command}`" if command else "")
