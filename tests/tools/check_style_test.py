"""Plants one fault of each rule in a small tree and demands that tools/check_style names it, and nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_style"
OPENING = "// What this file owns.\n"
FORMAT = "BasedOnStyle: Google\nColumnLimit: 110\n"
CLEAN = {
    ".clang-format": FORMAT,
    "src/base/options.cc": OPENING + 'const char* home() { return getenv("HOME"); }\n',
    "src/base/status.h": OPENING + "#pragma once\n",
    "src/tensor/shape.cc": OPENING + '#include "base/status.h"\n',
    "src/backend/backend.h": OPENING + '#include "base/status.h"\n',
    "src/backend/cpu/linear.cc": OPENING + '#include "backend/cpu/linear.h"\n\n#include "backend/backend.h"\n',
    "src/models/llama.cc": OPENING + "// CUDA in a comment is no fault.\nint llama_layers = 1;\n",
    "src/models/registry.cc": OPENING + "extern const Family kLlama;\n",
    "tests/models/llama_test.cc": "int llama = 1;\n",
    "docs/page.md": "Nothing here is XX" + "X.\n",
}


def body(lines):
    return "{\n" + "  f();\n" * (lines - 2) + "}\n"


class CheckStyle(unittest.TestCase):
    def run_check(self, files, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, **files}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return subprocess.run([sys.executable, CHECK, "--root", folder, *arguments], capture_output=True, text=True)

    def assert_clean(self, files):
        result = self.run_check(files)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("0 faults", result.stdout)

    def assert_fault(self, files, rule, path, line):
        result = self.run_check(files)
        faults = [text for text in result.stdout.splitlines() if ": [" in text]
        self.assertEqual(len(faults), 1, result.stdout + result.stderr)
        self.assertTrue(faults[0].startswith(f"{path}:{line}: [{rule}]"), faults[0])
        self.assertEqual(result.returncode, 1)

    def test_clean_tree_passes(self):
        self.assert_clean({})

    def test_upward_include(self):
        text = OPENING + '#include "tensor/shape.h"\n'
        self.assert_fault({"src/base/status.h": text}, "layers", "src/base/status.h", 2)

    def test_upward_include_alone_fails_too(self):
        result = self.run_check({"src/ir/op.h": OPENING + '#include "models/blocks.h"\n'}, "--only", "layers", "--quiet")
        self.assertEqual(result.returncode, 1)
        self.assertIn("src/ir/op.h:2: [layers]", result.stdout)

    def test_backend_does_not_include_its_sibling(self):
        text = OPENING + '#include "backend/cpu/linear.h"\n'
        self.assert_fault({"src/backend/ref/linear.cc": text}, "layers", "src/backend/ref/linear.cc", 2)

    def test_plan_includes_the_interface_of_backends_only(self):
        text = OPENING + '#include "backend/backend.h"\n#include "backend/cpu/linear.h"\n'
        self.assert_fault({"src/plan/lower.cc": text}, "layers", "src/plan/lower.cc", 3)

    def test_include_in_a_comment_is_none(self):
        self.assert_clean({"src/base/status.h": OPENING + '/*\n#include "tensor/shape.h"\n*/\n'})

    def test_unknown_folder(self):
        self.assert_fault({"src/misc/util.h": OPENING}, "layers", "src/misc/util.h", 1)

    def test_long_file(self):
        self.assert_clean({"tests/long.cc": "int a;\n" * 800})
        self.assert_fault({"tests/long.cc": "int a;\n" * 801}, "size", "tests/long.cc", 1)

    def test_long_functions(self):
        heads = {
            "void g() ": 61,
            "namespace a {\nint A::g(int x) const noexcept ": 61,
            "struct A : B {\n  A() : a_{1}, b_(2) ": 61,
            "template <typename T>\nauto g(T x) -> int ": 60,
            "TEST(Suite, Name) ": 61,
            "auto g = [](int x) ": 61,
        }
        for head, lines in heads.items():
            tail = "}\n" if "namespace" in head else "};\n" if "struct" in head else ";\n" if "auto g =" in head else ""
            found = self.run_check({"tests/long.cc": head + body(lines) + tail}, "--only", "functions")
            self.assertIn("tests/long.cc:", found.stdout, head)
            self.assertIn("61 lines, at most 60", found.stdout, head)
            allowed = self.run_check({"tests/long.cc": head + body(lines - 1) + tail}, "--only", "functions")
            self.assertEqual(allowed.returncode, 0, head + allowed.stdout)

    def test_functions_are_measured_one_by_one(self):
        text = "".join(f"void g{i}() {{\n" + '  f("}{", \'{\');  // {\n' * 40 + "}\n" for i in range(3))
        self.assertEqual(self.run_check({"tests/many.cc": text}, "--only", "functions").returncode, 0)

    def test_kernels_may_be_longer(self):
        kernel = "__global__ void g() "
        self.assertEqual(self.run_check({"tests/k.cu": kernel + body(250)}, "--only", "functions").returncode, 0)
        self.assertEqual(self.run_check({"tests/k.cu": kernel + body(251)}, "--only", "functions").returncode, 1)

    def test_getenv_outside_options(self):
        text = OPENING + 'const char* home() { return std::getenv("HOME"); }\n'
        self.assert_fault({"src/base/file.cc": text}, "getenv", "src/base/file.cc", 2)

    def test_throw(self):
        self.assert_fault({"src/base/file.cc": OPENING + "void f() { throw 1; }\n"}, "throw", "src/base/file.cc", 2)
        self.assert_clean({"src/base/file.cc": OPENING + "// throw\n" + 'const char* f = "throw";\n'})

    def test_launch_outside_the_helper(self):
        text = OPENING + "void f() { cudaLaunchKernelEx(0); }\n"
        self.assert_fault({"src/backend/cuda/norm.cu": text}, "launch", "src/backend/cuda/norm.cu", 2)
        self.assert_clean({"src/backend/cuda/launch.cu": text})
        found = self.run_check({"src/backend/cuda/norm.cu": OPENING + "void f() { k<<<1, 2>>>(); }\n"}, "--only", "launch")
        self.assertIn("norm.cu:2: [launch] <<<", found.stdout)

    def test_device_name_in_models(self):
        self.assert_fault({"src/models/llama.cc": OPENING + "int on_gpu = 1;\n"}, "devices", "src/models/llama.cc", 2)
        self.assert_fault({"src/models/llama.cc": OPENING + 'auto d = "cuda:0";\n'}, "devices", "src/models/llama.cc", 2)

    def test_family_name_outside_models(self):
        self.assert_fault({"src/plan/a.cc": OPENING + "bool is_llama3 = true;\n"}, "families", "src/plan/a.cc", 2)
        self.assert_fault({"apps/skua/a.cc": OPENING + 'auto m = "Llama";\n'}, "families", "apps/skua/a.cc", 2)

    def test_file_without_opening(self):
        self.assert_fault({"src/base/file.cc": "int a;\n"}, "opening", "src/base/file.cc", 1)

    def test_unfinished_work(self):
        self.assert_fault({"tests/a.cc": "// TO" + "DO: later\n"}, "words", "tests/a.cc", 1)

    def test_path_of_one_machine(self):
        self.assert_fault({"docs/page.md": "See /" + "home/someone/skua.\n"}, "paths", "docs/page.md", 1)
        self.assert_clean({"docs/page.md": "See ~/.cache and build/work/x.\n"})

    def test_address_in_the_tools(self):
        self.assert_fault({"deps.lock": "from https:" + "//registry.example/x\n"}, "hosts", "deps.lock", 1)

    def test_unformatted_file(self):
        self.assert_fault({"tests/a.cc": "int a;\nint  b;\n"}, "format", "tests/a.cc", 2)

    def test_exception_excuses_and_must_be_used(self):
        fault = {"src/base/file.cc": OPENING + "void f() { throw 1; }\n"}
        name = "tools/style_exceptions.txt"
        self.assert_clean({**fault, name: "# why\nthrow src/base/file.cc the edge of a third party\n"})
        self.assert_fault({name: "throw src/base/file.cc the edge\n"}, "exceptions", name, 1)
        result = self.run_check({**fault, name: "throw src/base/file.cc\n"})
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{name}:1: [exceptions] expected RULE PATH REASON", result.stdout)


if __name__ == "__main__":
    unittest.main()
