"""`steadygpu diagnose --catalog DIR` from the outside."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from steadygpu.cli import app

HEAD = "code,name,severity,action,scope,meaning,decision,depends_on_decode,source,date\n"
ROW = "63,MY_NAME,critical,drain,gpu,Our own words.,Take it out.,no,our runbook,2026-12-01\n"
LOG = "[  911.020304] NVRM: Xid (PCI:0000:17:00): 63, pid=41277, name=python, Row remapped\n"


def run(tmp_path: Path, *options: str) -> Result:
    (tmp_path / "dmesg.txt").write_text(LOG)
    return CliRunner().invoke(app, ["diagnose", str(tmp_path / "dmesg.txt"), *options])


def laid(tmp_path: Path, file: str, text: str) -> str:
    folder = tmp_path / "site rules"
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(text, encoding="utf-8")
    return str(folder)


def test_a_row_of_the_user_is_used_and_the_report_says_so(tmp_path: Path) -> None:
    options = ("--catalog", laid(tmp_path, "xids.csv", HEAD + ROW), "--format", "json")
    report = json.loads(run(tmp_path, *options).stdout)
    assert report["catalog"] == "2026-11-30+site rules"
    (finding,) = [f for f in report["hosts"][0]["findings"] if f["id"] == "silent.xid-other"]
    assert (finding["severity"], finding["action"]) == ("critical", "drain")
    assert "Our own words" in json.dumps(finding)
    without = json.loads(run(tmp_path, "--format", "json").stdout)
    assert without["catalog"] == "2026-11-30"
    (finding,) = [f for f in without["hosts"][0]["findings"] if f["id"] == "silent.xid-other"]
    assert finding["severity"] == "info"


def test_a_mistake_is_wrong_use_with_file_row_column_and_what_is_accepted(tmp_path: Path) -> None:
    bad = laid(tmp_path, "xids.csv", HEAD + ROW.replace("drain", "explode\x1b[31m"))
    result = run(tmp_path, "--catalog", bad)
    assert result.exit_code == 2
    assert "xids.csv, line 2, column action: 'explode" in result.stderr
    assert "accepted: drain, reset-gpu" in result.stderr
    assert "\x1b" not in result.stderr
    assert result.stdout == ""


def test_a_column_with_control_characters_is_told_without_them(tmp_path: Path) -> None:
    bad = laid(tmp_path, "xids.csv", HEAD.replace("code", "co\x1b[2Jde", 1) + ROW)
    result = run(tmp_path, "--catalog", bad)
    assert result.exit_code == 2
    assert "unknown column" in result.stderr
    assert "\x1b" not in result.stderr


def test_causes_of_findings_that_do_not_exist_are_wrong_use(tmp_path: Path) -> None:
    head = "cause,consequence,relation,window_s,source,date\n"
    row = "silent.gpu-mising,silent.gpu-missing,same-card,,ours,2026-12-01\n"
    result = run(tmp_path, "--catalog", laid(tmp_path, "causes.csv", head + row))
    assert result.exit_code == 2
    assert "'silent.gpu-mising' is no finding" in result.stderr


def test_a_folder_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    result = run(tmp_path, "--catalog", str(tmp_path / "nowhere"))
    assert result.exit_code == 2
    assert "name a folder" in result.stderr
