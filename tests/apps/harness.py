"""Running the program: in pipes, and at a terminal of its own."""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import termios
import time
import unittest

import tiny_model

PROGRAM = os.environ["SKUA_PROGRAM"]
SLOW = float(os.environ.get("SKUA_TEST_PATIENCE", "60"))  # seconds until a wait has failed


class ProgramTest(unittest.TestCase):
    """Each class has one tiny checkpoint in cls.model and a store without models in cls.home."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.model = tiny_model.write(cls.root / "tiny")
        cls.home = cls.root / "home"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("SKUA_", "HF_", "XDG_")) or name.startswith("SKUA_TEST_")}
        return {**kept, "HOME": str(self.home), "SKUA_THREADS": "1", **variables}

    def start(self, *args, variables=None, **how):
        how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen([PROGRAM, *map(str, args)], env=self.environment(**(variables or {})), **how)

    def run_skua(self, *args, text=b"", variables=None, **how):
        process = self.start(*args, variables=variables, **how)
        out, err = process.communicate(text, timeout=SLOW)
        result = subprocess.CompletedProcess(args, process.returncode, out, (err or b"").decode("utf-8", "replace"))
        self.assertGreaterEqual(result.returncode, 0, f"died of signal {-result.returncode}: {result.stderr}")
        return result

    def reply(self, *args, **how):
        """Output of a run that must succeed."""
        result = self.run_skua(*args, **how)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def refused(self, code, *args, says=(), **how):
        """Checks the exit code and that stderr is one error line that holds every text of `says`."""
        result = self.run_skua(*args, **how)
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("skua: error: "), lines[0])
        for text in says:
            self.assertIn(text, lines[0])
        return lines[0]


class Terminal:
    """The program at a pseudo-terminal. Use as a context manager."""

    def __init__(self, test, *args, variables=None):
        self.test = test
        self.seen = ""
        self.master, slave = pty.openpty()
        settings = termios.tcgetattr(slave)
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, b"\x18\x00\x78\x00\x00\x00\x00\x00")  # 24 rows, 120 columns

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        environment = test.environment(**{"TERM": "xterm", **(variables or {})})
        self.process = subprocess.Popen([PROGRAM, *map(str, args)], env=environment, stdin=slave, stdout=slave,
                                        stderr=slave, preexec_fn=own_terminal)
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    def send(self, text):
        os.write(self.master, text.encode())

    def line(self, text):
        self.send(text + "\r")

    def _read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)

    def expect(self, pattern):
        """Waits for the pattern, returns the match, and forgets everything up to its end."""
        end = time.monotonic() + SLOW
        while True:
            match = re.search(pattern, self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            left = end - time.monotonic()
            if left <= 0 or (not self._read(left) and self.process.poll() is not None):
                raise AssertionError(f"waited for {pattern!r}, got {self.seen[-2000:]!r}")

    def ended(self):
        """Waits for the end and returns the exit code."""
        end = time.monotonic() + SLOW
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.05)
        self.test.assertIsNotNone(self.process.poll(), f"still runs; said {self.seen[-2000:]!r}")
        return self.process.returncode

    def interrupt(self):
        """Ctrl-C as the terminal sends it."""
        self.send("\x03")

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)
