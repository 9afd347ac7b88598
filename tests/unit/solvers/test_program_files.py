"""Program files, options and commands: read strictly, and what a program may be asked for."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from program_cases import GOOD, RESULT, leaving, request

from sstep_verify.adapters.program import (
    Program,
    ProgramFile,
    ProgramSolver,
    program_from,
    read_program,
)
from sstep_verify.adapters.program.tables import exec_option
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.read import read_definition
from sstep_verify.declaration import Exchange
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import RunRequest


def test_places_of_a_command_are_filled_in_without_a_shell():
    program = Program(
        "p", ("mpiexec", "-n", "{np}", "./x", "{dir}", "s={s} b={b} {H} {m} {n}", "{{}}; $HOME")
    )
    words = program.words(dir="/a b", np=2, s=4, b=1, H=9, m=5, n=6)
    assert words == ["mpiexec", "-n", "2", "./x", "/a b", "s=4 b=1 9 5 6", "{}; $HOME"]
    assert program.takes_ranks
    assert not Program("p", ("./x", "{{np}}")).takes_ranks


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"command": ()}, "command is empty"),
        ({"command": ("x", "{folder}")}, r"\{folder\} is unknown; known: \{dir\}"),
        ({"command": ("x", "{dir!r}")}, "is unknown"),
        ({"command": ("x", "{dir:9}")}, "is unknown"),
        ({"command": ("x", "{")}, "a brace itself is written twice"),
        ({"command": ("x", "a\0b")}, "NUL"),
        ({"command": ("x",), "writes": "logs"}, "did you mean 'log'"),
        ({"command": ("x",), "time_limit": 0.0}, "must be > 0 s"),
        ({"command": ("x",), "memory": -1.0}, "must be >= 0 GiB"),
    ],
)
def test_a_command_that_cannot_be_used_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Program("p", **fields)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + "[declaration]\nupdate = 'nonsense'\n", "update: 'nonsense' is rejected"),
        (GOOD + "[declaration]\nname = 'x'\n", "name is not declared, but follows"),
        (GOOD + "[declaration]\nupdat = 'frozen'\n", "did you mean 'update'"),
        (GOOD + "[declaration]\nexchange = 'foo'\n", "exchange 'foo' is unknown; known: allreduce"),
        (GOOD + "[declaration]\nexchange = 1\n", "exchange: "),
        (GOOD + "[declaration]\nexchange = {kind = 'gram', row = 1}\n", "did you mean 'rows'"),
        (
            GOOD + "[declaration]\nexchange = {kind = 'gram', rows = 1}\n",
            "goes with exchange kept-gram only",
        ),
        (GOOD + "[declaration]\nexchange = {kind = 'kept-gram', rows = 1}\n", "'per-window' is judged"),
        (GOOD + "[other]\n", "unknown table 'other'"),
        (GOOD + "nice = 1\n", "nice"),
        (GOOD.replace("[program]", "[progam]"), "program"),
        ("[program\n", "not a TOML file"),
        ("[program]\nname = 1\ncommand = ['x']\n", "name: 1 is rejected"),
        (GOOD.replace('["./x", "{dir}"]', '"./x"'), "command"),
    ],
)
def test_a_program_file_that_cannot_be_used_is_refused_with_its_place(tmp_path, text, words):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_program(path)
    assert str(path) in str(caught.value) or "mine" in str(caught.value)


def test_a_program_file_and_options_say_the_same(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        GOOD.replace("mine", "x")
        + 'writes = "trace"\n[declaration]\nupdate = "frozen"\nrbf = "difference"\n'
    )
    read = read_program(path)
    options = program_from(("./x", "{dir}"), ("writes=trace", "update=frozen", "rbf=difference"))
    assert read == options
    declared = read.declared(3)
    assert (declared.update, declared.rbf, declared.ranks, declared.log) == (
        "frozen",
        "difference",
        3,
        False,
    )
    for wrong, key in (("frozen", "KEY=VALUE"), ("updat=frozen", "'updat'"), ("stream.kin=x", "'kin'")):
        with pytest.raises(InputError, match=key):
            program_from(("./x",), (wrong,))
    with pytest.raises(InputError, match="No closing quotation"):
        program_from(("./x",), ("setup='make",))
    with pytest.raises(InputError, match=r"^--exec: program: program 'x': '\{foo\}': "):
        program_from(("./x", "{foo}"))


@pytest.mark.parametrize(
    ("told", "kind"), [("per-window", "per-window"), ('{kind = "per-window"}', "per-window"), ('""', None)]
)
@pytest.mark.parametrize("more", [(), ("witness=mpicc",)])
def test_an_exchange_is_reported_by_its_kind_or_by_a_table(told, kind, more):
    declared = program_from(("./x", "{np}"), (f"exchange={told}", *more)).declared(2)
    assert declared.exchange == (Exchange(kind) if kind else None)


def test_a_setting_holds_in_place_of_what_a_program_file_says(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(GOOD + 'writes = "final"\n[stream]\nkind = "glibc-rand"\nseed = 3\n')
    settings = ("setup=make -C x", "stream.seed=4", "sign=labels", "s=[4, 8]")
    described = read_program(path, settings)
    assert described.program.setup == ("make", "-C", "x")
    assert described.program.s == (4, 8)
    assert described.conventions.sign == "labels"
    assert (described.stream.seed, read_program(path).stream.seed) == (4, 3)


def test_a_program_with_draws_of_its_own_is_asked_for_nothing_else(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        GOOD + 'writes = "final"\n[final]\nafter = "alpha:"\n[stream]\nkind = "glibc-rand"\nseed = 3\n'
    )
    tested = ProgramSolver(read_program(path))
    with pytest.raises(RefusedError, match="starts from alpha = 0"):
        tested.run(request())
    asked = request()
    other = RunRequest(asked.problem, IndexStream("glibc-rand", 6, 1, 20, seed=4), 4, 14)
    with pytest.raises(RefusedError, match=r"glibc-rand, seed 3.* those of glibc-rand, seed 4"):
        tested.run(other)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ('[final]\nafter = "alpha:"\n', "writes must be 'final'"),
        ('writes = "final"\n[final]\nafter = ""\n', "after is empty"),
        ('writes = "final"\n[final]\nfile = "../a"\n', "leaves the run folder"),
        ('writes = "final"\n[final]\nfile = "{dir}/b/../../a"\n', "leaves the run folder"),
        ('writes = "final"\n[final]\nfile = "/etc/passwd"\n', "leaves the run folder"),
        ('writes = "final"\n[final]\nfile = "{dir}x/a"\n', "leaves the run folder"),
        ('writes = "final"\n[final]\nfile = "a{what}"\n', "is unknown"),
        ('writes = "final"\n[final]\nfile = "a\\u0000"\n', "NUL"),
        ('writes = "final"\n[final]\nafter = "a"\nfirst = -3\n', "first = -3"),
        ('writes = "final"\n[final]\nafter = "a"\nfirst = 1.5\n', "first"),
        ('writes = "final"\n[stream]\nkind = "logged"\n', "writes must be 'log'"),
        ('[stream]\nkind = "mt19937"\nseed = 4294967296\n', "must lie in 0..4294967295"),
        ('[stream]\nkind = "mt19937"\n[conventions]\norder = "by-class"\n', "let the program log them"),
        ("[conventions]\nscale = 0\n", "scale = 0, but it must lie between"),
        ("[conventions]\nscale = -2.0\n", "declare another sign by sign = -1"),
        ("[conventions]\nscale = nan\n", "scale = nan, but"),
        ("[conventions]\nscale = 1e-300\n", "must lie between 2"),
        ('[conventions]\nscale = "1/n"\n', "known: m, C, lambda, 1/m"),
        ("[conventions]\nsign = 2\n", "sign = 2, but it must be 1, -1 or 'labels'"),
        ('[conventions]\norder = "sorted"\n', "'sorted' is rejected"),
        ('[conventions]\ncounts = "passes"\n', "'passes' is rejected"),
        ("[conventions]\nstart = 0\n", "start: 0 is rejected"),
        ("[conventions]\nscales = 2\n", "scales"),
        ('environment = { "A=B" = "x" }\n', "no environment variable is named 'A=B'"),
        ('environment = { A = "{x}" }\n', "environment, A = '{x}': {x} is unknown"),
        ("environment = { A = 1 }\n", "environment"),
        ('witness = "mpicc"\nenvironment = { LD_PRELOAD = "x" }\n', "LD_PRELOAD, which the witness needs"),
        ("s = [0]\n", "s = 0, but a window"),
        ('writes = "trace"\n[declaration]\nweights = 0\n', "and not 'trace'"),
        ('[declaration]\nweights = 0\n[conventions]\nscale = "m"\n', "a power of two"),
        ("[declaration]\nscaled = true\n", "'scaled' is unknown"),
        ('writes = "final"\n[final]\nbefore = "x"\n', "before|after"),
        ('[stream]\nkind = "rand48"\nseed = 1\n', "kind = 'rand48'; known"),
        ('[stream]\nkind = "glibc-rand"\nseed = -1\n', "must lie in"),
    ],
)
def test_tables_of_such_a_program_are_strict(tmp_path, tables, words):
    path = tmp_path / "p.toml"
    path.write_text(GOOD + tables)
    with pytest.raises(InputError, match=words):
        read_program(path)


def test_a_problem_is_handed_over_by_environment_variables(tmp_path):
    text = "print('a:', os.environ['STEPS'], os.environ['C'], *[0] * 4)"
    more = 'environment = { STEPS = "{H}", C = "{penalty}" }\n'
    tested = leaving(text, '[final]\nafter = "a:"\n', tmp_path, more=more)
    made = tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))
    assert made.final.tolist() == [4.0, 0.5, 0, 0, 0, 0]
    assert ProgramFile(Program("p", ("x",), environment={"P": "{np}"})).program.takes_ranks


def test_a_run_of_another_s_than_it_knows_is_refused(tmp_path):
    tested = leaving("", RESULT, tmp_path, more="s = [1, 4]\n")
    with pytest.raises(RefusedError, match=r"knows s = 1, 4, but the run is of s = 2"):
        tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))
    with pytest.raises(InputError, match="s = 2 is asked for, but the program knows s = 1, 4 only"):
        profile_of("smoke", tested.described, Selection(s=(2,)), "")
    assert profile_of("smoke", tested.described, Selection(), "").families[0].s == (1, 4)


def test_a_campaign_file_fits_its_problems_to_the_program(tmp_path):
    program = tmp_path / "mine.toml"
    program.write_text(
        GOOD + '[stream]\nkind = "numpy-pcg64"\nseed = 9\n[conventions]\ncounts = "epochs"\n'
    )
    (tmp_path / "c.toml").write_text(
        '[campaign]\nname = "c"\ntitle = "c"\ndescription = "c"\n[[family]]\ndata = ["small"]\ntask = ["svm-l1"]\n'
        f'kernel = [{{ name = "linear" }}]\ns = [1]\nstart = 5\nsolver = {json.dumps(str(program))}\n'
    )
    (family,) = read_definition(tmp_path / "c.toml").families
    assert (family.stream, family.seed, family.counts, family.start) == ("numpy-pcg64", 9, "epochs", 0)
    assert "step-replay" in family.checks
    assert not {"metamorphic-exact", "residual-gap"} & set(family.checks)


@pytest.mark.parametrize(
    ("command", "settings", "known"),
    [
        (("./x",), (), False),
        (("./x", "{s}", "{H}"), ("writes=final",), False),
        (("./x", "{dir}"), (), True),
        (("./x", "{data}"), (), True),
        (("./x",), ('environment={ D = "{dir}" }',), True),
        (("./x", "{{dir}}"), (), False),
        (("./x",), ("writes=final", "final.after=alpha:"), True),  # It may know its data itself.
        (("./x",), ("writes=final", "final.file=a.txt"), False),
    ],
)
def test_a_program_that_cannot_find_its_problem_is_refused(command, settings, known):
    described = program_from(command, settings)
    if known:
        described.require_problem()
        return
    with pytest.raises(InputError) as raised:
        described.require_problem()
    (option,) = re.findall(r"--exec ('.*'|\S+), or as", str(raised.value))
    (line,) = shlex.split(option)
    assert shlex.split(line) == [*command, "{dir}"]


@pytest.mark.parametrize(
    "words", [("./x", "{dir}"), ("./a b", "it's", ""), ("mpiexec", "-n", "{np}", "$x")]
)
def test_the_option_of_a_command_is_taken_back_as_it_was(words):
    name, line = shlex.split(exec_option(words))
    assert (name, tuple(shlex.split(line))) == ("--exec", words)
