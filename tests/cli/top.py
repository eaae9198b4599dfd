#!/usr/bin/python3
"""kolk top on a terminal: what it draws, its keys, and the end of the process.

Usage: top.py KOLK PROGRAM"""
import atexit
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pyte

PATIENCE = 100  # seconds


class Terminal:
    """A kolk top on a terminal of its own. `screen` has what the user sees."""

    def __init__(self, kolk, *arguments, rows=30, columns=180):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.child = subprocess.Popen([kolk, "top", *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
                                      env={**os.environ, "TERM": "linux"}, start_new_session=True)
        os.close(theirs)
        atexit.register(self.child.kill)

    def shows(self, pattern):
        return re.search(pattern, "\n".join(self.screen.display))

    def expect(self, *patterns, absent="(?!)"):
        end = time.monotonic() + PATIENCE
        while not all(map(self.shows, patterns)) or self.shows(absent):
            ready, _, _ = select.select([self.end], [], [], max(0, end - time.monotonic()))
            if not ready or not self.feed():
                sys.exit("\n".join([f"{patterns} without {absent} is expected, not:", *self.screen.display]))

    def feed(self):
        """Returns False if kolk top has ended."""
        try:
            drawn = os.read(self.end, 65536)
        except OSError:  # the other end is closed
            drawn = b""
        self.stream.feed(drawn)
        return drawn != b""

    def press(self, keys):
        os.write(self.end, keys.encode())

    def quits(self, code=0):
        while self.feed():
            pass
        if self.child.wait(PATIENCE) != code:
            sys.exit(f"kolk top ended with {self.child.returncode}")


def main():
    kolk, program = sys.argv[1:]
    target = subprocess.Popen([program], stdout=subprocess.PIPE)
    target.stdout.readline()  # its pools are made
    process = str(target.pid)

    atexit.register(target.kill)
    terminal = Terminal(kolk, "-d", "20", process)
    terminal.expect(f"top_server, process {process}: 3 pools", "POOL +KIND", "sessions +pool", "requests +shared",
                    "Jckets +shared +1 +1 +1 .* 1 for [0-9]+ s", "F10 Quit")
    terminal.press("/sexx\x7f\x7f")
    terminal.expect("Filter: se_")
    terminal.press("SS\n")
    terminal.expect("Filter: seSS *\n", "sessions", absent="requests")
    terminal.press("?")
    terminal.expect("F4 /", "TREND +of the last five minutes", absent="sessions")
    terminal.press("?")
    terminal.expect("sessions", absent="F4 /")
    terminal.press("\x1b")
    terminal.expect("requests", absent="Filter:")
    terminal.press("<<<<<<<<")  # from MEMORY to POOL
    terminal.expect("(?s)requests .*sessions .*Jckets")
    terminal.press("I")
    terminal.expect("(?s)Jckets .*sessions .*requests")
    terminal.press("I<\x1b[B\x1b[6~\x1b[A\x1b[5~\x1b[4~\x1b[1~\x0c")  # by TREND; all rows are visible
    terminal.expect("1 creeping", r"(?s)sessions [^\n]*\+[0-9]+/s 100\.0 % creeps.*requests")  # after 60 looks
    terminal.child.send_signal(signal.SIGSTOP)  # it would see a process that has ended and has not been waited for
    os.waitpid(terminal.child.pid, os.WUNTRACED)
    target.kill()
    target.wait()
    terminal.child.send_signal(signal.SIGCONT)
    terminal.expect("The last look: there is no such process")
    terminal.press("q")
    terminal.quits()

    target = subprocess.Popen([program, "frames"], stdout=subprocess.PIPE)
    target.stdout.readline()
    atexit.register(target.kill)
    held = f"frames: 3 by process {target.pid} [(]top_server[)]"
    terminal = Terminal(kolk, "-d", "20", str(target.pid), rows=8)  # four pools fill it
    terminal.expect("frames +ipc", "requests", absent=held)
    terminal.press("\x1b[4~")
    terminal.expect(held)
    terminal.press("/frames\n")
    terminal.expect(f"frames +ipc .*\n{held}")
    terminal.press("q")
    terminal.quits()
    terminal = Terminal(kolk, "--filter", "frames", str(target.pid), columns=16)
    terminal.expect("\nframes: 3 by pro\n {16}\n")  # the rest is not on the next line
    terminal.press("q")
    terminal.quits()

    stranger = Terminal(kolk, str(os.getpid()))
    stranger.expect("there is no kolk in this process")
    stranger.quits(3)
    print("drawn, filtered, sorted, creeping, ended, held")


if __name__ == "__main__":
    main()
