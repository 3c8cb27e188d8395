"""The command that repeats the experiments of the paper (`make paper`)."""

import pytest

from paper.__main__ import main
from paper.study import WARNING
from watchword.erisk import make_collection

SMALL = ("--task=2018-anorexia", "--lengths=1,3", "--no-search", "--repeats=50")
FEW = ("--subjects=40", "--most-writings=20")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_data_output_and_files_say_that_collections_are_synthetic(here, capsys):
    assert main([*SMALL, *FEW]) == 0
    shown = capsys.readouterr()
    assert WARNING in shown.out
    assert WARNING in shown.err
    assert WARNING in (here / "paper" / "report.md").read_text(encoding="utf-8")
    assert (here / "paper" / "synthetic.txt").exists()


def test_results_are_printed_beside_published_ones(capsys):
    assert main([*SMALL, *FEW]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert ["FHDO-BCSGD", "published", "12.15", "5.96", "–", "–", "–"] in rows
    assert {row[0] for row in rows if row[1:2] == ["synthetic"]} == {"SS3", "τ-SS3"}
    assert "τ-SS3 minus SS3, paired:" in shown
    assert shown.endswith("Written: paper/report.md\n")


def test_results_on_a_given_synthetic_collection_say_so_too(capsys):
    make_collection("made", "2018-anorexia", subjects=40, most_writings=20)
    assert main([*SMALL, "--data=made"]) == 0
    shown = capsys.readouterr()
    assert WARNING in shown.out
    assert shown.err == ""


def test_figures_need_no_data(here, capsys):
    assert main(["--figures", "-o", "drawn"]) == 0
    names = [f"figure-{number}.svg" for number in range(1, 5)]
    assert sorted(path.name for path in (here / "drawn").iterdir()) == names
    assert capsys.readouterr().out.split() == [f"drawn/{name}" for name in names]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data=nowhere"], "paper: nowhere"),
        ([*SMALL, *FEW, "--subject=nobody"], "subject 'nobody' is not in the test set"),
        (["--task=2018-anorexia", *FEW], "4 folds need at least 4 subjects"),
        (["--post=0"], "post must be"),
    ],
)
def test_errors_are_named(arguments, message, capsys):
    assert main([*arguments, "-o", "new"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data=nowhere", "--subjects=40"], "--subjects is for synthetic collections"),
        (["--lengths=11"], "11 is more than 10"),
        (["--lengths=0"], "'0' is not like"),
        (["--task=2019-anorexia"], "2019-anorexia"),
    ],
)
def test_wrong_usage_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as leaving:
        main([*arguments, "-o", "new"])
    assert leaving.value.code == 2
    assert message in capsys.readouterr().err


def test_a_folder_with_files_is_refused(here, capsys):
    (here / "paper").mkdir()
    (here / "paper" / "mine.txt").write_text("mine")
    assert main([*SMALL, *FEW]) == 1
    assert "choose a new folder" in capsys.readouterr().err
