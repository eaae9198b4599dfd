#!/usr/bin/env python3
"""Writes the completion of the kolk command for three shells, made from the program's --help and that of each verb:
FOLDER/kolk for bash, FOLDER/_kolk for zsh, FOLDER/kolk.fish for fish.

Usage: tools/completion.py PROGRAM FOLDER
"""

import os
import re
import sys

sys.dont_write_bytecode = True
from man import Help  # noqa: E402

FILES = {"FILE", "TRACE", "OLD.json"}
FOLDERS = {"FOLDER", "DIRECTORY"}


class Value:
    """What an option's value or a verb's argument may be."""

    def __init__(self, name, words=(), several=False):
        self.name, self.words, self.several = name, words, several  # several: a list with commas


def value_of(row, help_):
    """The value of an option, with its words if the help lists them; None for a flag."""
    name, about, text = row["argument"], row["help"], " ".join(help_.text)
    if not name:
        return None
    if name == "SETTINGS":
        return Value(name, about.split(": ")[1].split(","), several=True)
    words = re.search(rf"for --{row['name']} are ((?:\w+, )+\w+ and \w+)\.", text)
    return Value(name, re.split(r",? (?:and )?", words[1]) if words else ())


class Verb:
    def __init__(self, program, name, about):
        help_ = Help(program, name)
        self.name, self.about = name, about
        self.options = [Option(row, help_) for row in help_.rows.get("Options", [])]
        argument = re.search(r"\[OPTION\.\.\.\] (?:-- )?\[?(\w+)", help_.synopsis)
        self.argument = Value(argument[1]) if argument else None


class Option:
    def __init__(self, row, help_):
        self.letter, self.name, self.about, self.value = row["letter"], row["name"], row["help"], value_of(row, help_)
        self.words = ([f"-{self.letter}"] if self.letter else []) + [f"--{self.name}"]


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


# ---- bash ----

BASH = """\
# Completion of the kolk command for bash.
_kolk() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} at list=
  [[ $word != = ]] || word= # --name=VALUE is three words
  [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}
  COMPREPLY=()
  for ((at = 2; at < COMP_CWORD; at++)); do
    [[ ${COMP_WORDS[at]} == -- ]] || continue
    if declare -F _command_offset > /dev/null; then
      _command_offset $((at + 1))
    elif ((at + 1 == COMP_CWORD)); then
      COMPREPLY=($(compgen -c -- "$word"))
    fi
    return
  done
  if ((COMP_CWORD == 1)); then
    list="@verbs@ help --help --version"
  elif [[ $verb == help ]]; then
    list="@verbs@"
  else
    case "$verb $before" in
@values@
      *)
        case $verb in
@options@
        esac
        ;;
    esac
  fi
  compopt +o default 2> /dev/null # no files
  COMPREPLY=($(compgen -W "$list" -P "${word%"${word##*,}"}" -- "${word##*,}")) # behind the last comma of a list
}
complete -o default -F _kolk kolk
"""


def bash(verbs, common):
    patterns, options = {}, []

    def what(value):
        if value.name in FILES | FOLDERS:
            return "return"
        if value.name == "PROCESS":
            return "list=$(ps -e -o pid=)"
        if value.name == "PROGRAM":
            return 'list=$(compgen -c -- "$word")'
        return f'list="{" ".join(value.words)}"'

    for before, its in [('*" ', common)] + [(f'"{verb.name} ', verb.options) for verb in verbs]:
        for option in its:
            if option.value:
                pattern = " | ".join(f'{before}{word}"' for word in option.words)
                patterns.setdefault(what(option.value), []).append(pattern)
    values = ["      " + " | \\\n        ".join(which) + f") {action} ;;" for action, which in patterns.items()]
    for verb in verbs:
        listed = " ".join(word for option in [*verb.options, *common] for word in option.words)
        options += [f"          {verb.name})", f'            list="{listed}"']
        if verb.argument:
            options += [f"            [[ $word == -* ]] || {what(verb.argument)}"]
        options += ["            ;;"]
    text = BASH.replace("@verbs@", " ".join(verb.name for verb in verbs))
    return text.replace("@values@", "\n".join(values)).replace("@options@", "\n".join(options))


# ---- zsh ----

ZSH = """\
#compdef kolk
# Completion of the kolk command for zsh.
local curcontext=$curcontext state line ret=1
local -A opt_args
local -a verbs common
verbs=(
@verbs@
  'help:print the help'
)
common=(
@common@
)
_arguments -C '(- *)'{-h,--help}'[print the help]' '(- *)--version[print the version]' \\
  '1: :->verb' '*:: :->rest' && ret=0
case $state in
  verb) _describe -t verbs verb verbs && ret=0 ;;
  rest)
    case $words[1] in
@cases@
      help) _describe -t verbs verb verbs && ret=0 ;;
    esac
    ;;
esac
return ret
"""


def zsh(verbs, common):
    def action(value):
        if value.words:
            words = " ".join(value.words)
            return f"_sequence compadd - {words}" if value.several else f"({words})"
        if value.name == "PROCESS":
            return "_pids"
        return "_files" if value.name in FILES else "_files -/" if value.name in FOLDERS else " "

    def spec(option):
        about = re.sub(r"([\[\]\\])", r"\\\1", option.about)
        value = f":{option.value.name}:{action(option.value)}" if option.value else ""
        if not option.letter:
            return quoted(f"--{option.name}{'=' if value else ''}[{about}]{value}")
        return (f"'(-{option.letter} --{option.name})'"
                + "{" + f"-{option.letter}{'+' if value else ''},--{option.name}{'=' if value else ''}" + "}"
                + quoted(f"[{about}]{value}"))

    cases = []
    for verb in verbs:
        specs = [spec(option) for option in verb.options]
        if verb.argument and verb.argument.name == "PROGRAM":
            specs += ["'(-)1:program: _command_names -e'", "'*::argument:_normal'"]  # without the space, -e comes too late
        elif verb.argument:
            specs += [quoted(f"1:{verb.argument.name}:{action(verb.argument)}")]
        lines = ["_arguments -s -S $common", *(f"  {text}" for text in specs), "  && ret=0"]
        cases += [f"      {verb.name})", " \\\n".join(f"        {text}" for text in lines), "        ;;"]
    text = ZSH.replace("@verbs@", "\n".join("  " + quoted(f"{verb.name}:{verb.about}") for verb in verbs))
    text = text.replace("@common@", "\n".join("  " + spec(option) for option in common))
    return text.replace("@cases@", "\n".join(cases))


# ---- fish ----


def fish(verbs, common):
    out = ["# Completion of the kolk command for fish.", "complete -c kolk -f"]

    def literal(text):
        return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"

    def what(value):
        if value.name in FILES:
            return "-F"
        if value.several:
            return "-a " + literal("(__fish_complete_list , 'string split \" \" \"" + " ".join(value.words) + "\"')")
        words = " ".join(value.words)
        if value.name == "PROCESS":
            words = "(__fish_complete_pids)"
        elif value.name == "PROGRAM":
            words = "(__fish_complete_subcommand --fcs-skip=2)"
        elif value.name in FOLDERS:
            words = "(__fish_complete_directories)"
        return f"-a {literal(words)}" if words else ""

    def option_line(condition, option):
        names = (f" -s {option.letter}" if option.letter else "") + f" -l {option.name}"
        value = f" {'-r' if option.value.name in FILES else '-x'} {what(option.value)}".rstrip() if option.value else ""
        out.append(f"complete -c kolk -n {literal(condition)}{names}{value} -d {literal(option.about)}")

    for verb in verbs:
        out.append(f"complete -c kolk -n __fish_use_subcommand -a {verb.name} -d {literal(verb.about)}")
    out.append("complete -c kolk -n __fish_use_subcommand -a help -d 'print the help'")
    out.append("complete -c kolk -n __fish_use_subcommand -s h -l help -d 'print the help'")
    out.append("complete -c kolk -n __fish_use_subcommand -l version -d 'print the version'")
    names = literal(" ".join(verb.name for verb in verbs))
    out.append(f"complete -c kolk -n '__fish_seen_subcommand_from help' -a {names}")
    for verb in verbs:
        condition = f"__fish_seen_subcommand_from {verb.name}"
        for option in verb.options:
            option_line(condition, option)
        if verb.argument:
            out.append(f"complete -c kolk -n {literal(condition)} {what(verb.argument)}")
    for option in common:
        option_line("not __fish_use_subcommand", option)
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(re.search(r"Usage: .*", __doc__)[0])
    program, folder = sys.argv[1:]
    general = Help(program)
    verbs = [Verb(program, row["term"], row["text"]) for row in general.rows["Verbs"] if row["term"] != "help"]
    common = [Option(row, general) for row in general.rows["Options of every verb"]]
    os.makedirs(folder, exist_ok=True)
    for name, text in (("kolk", bash), ("_kolk", zsh), ("kolk.fish", fish)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text(verbs, common))


if __name__ == "__main__":
    main()
