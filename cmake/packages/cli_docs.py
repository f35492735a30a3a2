"""Writes manual pages and completions for bash and zsh from the output of --help-all.

Usage: cli_docs.py --out FOLDER PROGRAM...     FOLDER/man1/NAME.1, FOLDER/bash/NAME and FOLDER/zsh/_NAME for each

The environment variable EMULATOR contains the command that runs programs of another architecture."""

import argparse
import datetime
import os
import re
import subprocess

import metadata

ENTRY = re.compile(r"^  (\S.*?)(?:\s{2,}(.+))?$")
CHOICES = re.compile(r"^(\w+(?:, \w+)* or \w+)\b")
WIDTH = "100"  # the width of the help, whose lines entries() joins
EMULATOR = os.environ.get("EMULATOR", "").split()
COLUMN = 30  # the column of the text of an option in the help


class Command:
    """The parsed --help-all of one command, with those of its subcommands."""

    def __init__(self, words):
        self.words = words
        text = subprocess.run([*EMULATOR, *words, "--help-all"], check=True, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": WIDTH}).stdout
        text = re.split(r"^=== .* ===$", text, maxsplit=1, flags=re.M)[0]  # drops the help of the subcommands, which follows
        head, *sections = re.split(r"^([A-Z][\w ,]+):\n", text, flags=re.M)
        self.summary, self.usage = re.search(r"^(.*?)\nUsage: (.*?)(?:\n\n|$)", head, re.S).groups()
        self.summary, self.usage = " ".join(self.summary.split()), " ".join(self.usage.split())
        parts = dict(zip(sections[::2], sections[1::2]))
        self.examples = re.findall(r"^  (\S.*)\n      (.*)$", parts.pop("Examples", ""), re.M)
        self.positionals = entries(parts.get("Positionals", ""))
        self.options = [e for title, part in parts.items() if title not in ("Positionals", "Subcommands") for e in entries(part)]
        self.commands = [Command([*words, e.names[0]]) for e in entries(parts.get("Subcommands", ""))]

    @property
    def name(self):
        return " ".join([os.path.basename(self.words[0]), *self.words[1:]])

    def has(self, option):
        return any(option in e.names for e in self.options)


class Entry:
    """An option, a positional or a subcommand: its names, the name of its value, its text."""

    def __init__(self, head, text):
        names, _, rest = head.partition(" ")
        self.names, self.text = names.split(","), text
        value = re.match(r"(\w+)", rest)
        self.value = value.group(1) if value else ""
        self.rest = rest

    def choices(self):
        found = CHOICES.match(self.text)
        return re.split(r", | or ", found.group(1)) if found and self.value else []


def entries(section):
    found = []
    for line in section.splitlines():
        match = ENTRY.match(line)
        if match and not line.startswith(" " * COLUMN):
            found.append(Entry(match.group(1), match.group(2) or ""))
        elif line.strip():
            found[-1].text = (found[-1].text + " " + line.strip()).strip()
    return found


def roff(text):
    """Escapes text for a manual page. A line must not begin with a control character."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def shown(example):
    """One example in roff: the command line and its effect."""
    return [".TP", f".B {roff(example[0])}", roff(example[1])]


def described(command, heading):
    lines = []
    if heading:
        lines += [f".SS {roff(command.name)}", roff(command.summary), ".PP", f".B {roff(command.usage)}"]
    for entry in [*command.positionals, *command.options]:
        lines += [".TP", f".B {roff(', '.join(entry.names))}" + (f" {roff(entry.rest)}" if entry.rest else ""), roff(entry.text)]
    if heading:
        lines += [line for example in command.examples for line in shown(example)]
    return lines


def manual(command):
    data = metadata.load()
    date = datetime.datetime.fromtimestamp(metadata.epoch(), datetime.timezone.utc).strftime("%Y-%m-%d")
    purpose = command.summary.splitlines()[0].rstrip(".")
    lines = [f'.TH {command.name.upper()} 1 "{date}" "poprt {metadata.version()}" "User Commands"', ".SH NAME",
             f"{roff(command.name)} \\- {roff(purpose[0].lower() + purpose[1:])}", ".SH SYNOPSIS", f".B {roff(command.usage)}",
             ".SH DESCRIPTION", roff(command.summary), ".SH OPTIONS", *described(command, False)]
    if command.commands:
        lines.append(".SH COMMANDS")
    for sub in command.commands:
        lines += described(sub, True)
    if command.examples:
        lines += [".SH EXAMPLES", *(line for example in command.examples for line in shown(example))]
    lines += [".SH EXIT STATUS", "0 when all went well, 1 when it did not (one line on stderr gives the reason), 2 for wrong usage.",
              ".SH AUTHOR", roff(data["authors"]), ".SH SEE ALSO",
              ", ".join(f"{n}(1)" for n in ("poprt", "poprt_exec", "popef_dump") if n != command.name)]
    return "\n".join(lines) + "\n"


def branch(command, pattern, more=""):
    """Returns the lines of a branch of bash's `case`: they set the words that may follow the command, and complete the
    values of options with a fixed set of values."""
    words = " ".join([*more, *(n for e in command.options for n in e.names)])
    lines = [f"    {pattern})", f'      words="{words}"', '      case "$previous" in']
    lines += [f"        {'|'.join(e.names)}) COMPREPLY=($(compgen -W \"{' '.join(e.choices())}\" -- \"$current\")); return ;;"
              for e in command.options if e.choices()]
    return [*lines, "      esac", "      ;;"]


def bash(command):
    name, subs = command.name, [c.words[-1] for c in command.commands]
    lines = [f"# bash completion of {name}, made from its --help.", f"_{name}() {{",
             '  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words',
             '  case "${COMP_WORDS[1]}" in']
    for sub in command.commands:
        lines += branch(sub, sub.words[-1])
    lines += branch(command, "*", subs)
    first = " || $COMP_CWORD = 1" if subs else ""
    lines += ["  esac", f'  if [[ "$current" = -*{first} ]]; then', '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
              "  else", '    compopt -o filenames; COMPREPLY=($(compgen -f -- "$current"))', "  fi", "}",
              f"complete -F _{name} {name}"]
    return "\n".join(lines) + "\n"


def zsh_text(text):
    return re.sub(r"([\[\]:'])", r"\\\1", text).replace("\\'", "'\\''")


def zsh_arguments(command, indent):
    lines = []
    for entry in command.options:
        value = ""
        if entry.value:
            action = f"({' '.join(entry.choices())})" if entry.choices() else "_files"
            value = f":{entry.value.lower()}:{action}"
        lines += [f"{indent}'{name}[{zsh_text(entry.text)}]{value}' \\" for name in entry.names]
    return lines


def zsh(command):
    name = command.name
    lines = [f"#compdef {name}", f"# zsh completion of {name}, made from its --help.", ""]
    if command.commands:
        lines += ["local -a commands=("] + [f"  '{c.words[-1]}:{zsh_text(c.summary.splitlines()[0])}'" for c in command.commands]
        lines += [")", "if (( CURRENT == 2 )); then", f"  _describe command commands", "  return", "fi", 'case "$words[2]" in']
        for sub in command.commands:
            lines += [f"  {sub.words[-1]})", "    shift words; (( CURRENT-- ))", "    _arguments \\",
                      *zsh_arguments(sub, "      "), "      '*:file:_files'", "    ;;"]
        lines.append("esac")
    else:
        lines += ["_arguments \\", *zsh_arguments(command, "  "), "  '*:file:_files'"]
    return "\n".join(lines) + "\n"


def completion(program, shell):
    """Returns the completion that the program prints itself."""
    return subprocess.run([*EMULATOR, program, "--print_completion", shell], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    for program in options.programs:
        command = Command([program])
        scripts = [completion(program, shell) if command.has("--print_completion") else make(command)
                   for shell, make in (("bash", bash), ("zsh", zsh))]
        for folder, file, text in (("man1", command.name + ".1", manual(command)), ("bash", command.name, scripts[0]),
                                   ("zsh", "_" + command.name, scripts[1])):
            os.makedirs(os.path.join(options.out, folder), exist_ok=True)
            with open(os.path.join(options.out, folder, file), "w", encoding="utf-8") as out:
                out.write(text)


if __name__ == "__main__":
    main()
