"""The chat at a terminal: the program runs at a pseudo-terminal and is typed at."""

import unittest

from harness import ProgramTest, Terminal

PROMPT = r">>> "


class Chat(ProgramTest):
    def open(self, *args, **how):
        return Terminal(self, "run", self.model, *args, **how)

    def test_a_conversation_grows_and_is_forgotten(self):
        with self.open() as chat:
            chat.expect(r"Send a message")
            chat.expect(PROMPT)
            chat.line("hi")
            chat.expect(r"Paris\.\r\n")
            first = int(chat.expect(r"prompt (\d+) tokens").group(1))
            chat.expect(PROMPT)
            chat.line("hi")
            second = int(chat.expect(r"prompt (\d+) tokens").group(1))
            # The reply, its end, a line feed, and another message.
            self.assertEqual(second, first + len("Paris.") + 2 + len("user\nhi\n") + 2 + len("assistant\n") + 1)
            chat.line("/clear")
            chat.expect(PROMPT)
            chat.line("hi")
            self.assertEqual(int(chat.expect(r"prompt (\d+) tokens").group(1)), first)
            chat.line("/bye")
            self.assertEqual(chat.ended(), 0)

    def test_ctrl_d_leaves(self):
        with self.open() as chat:
            chat.expect(PROMPT)
            chat.send("\x04")
            self.assertEqual(chat.ended(), 0)

    def test_ctrl_c_stops_the_reply_and_keeps_the_chat(self):
        with self.open("-c", "1000000") as chat:
            chat.expect(PROMPT)
            for _ in range(3):
                chat.line("count")
                chat.expect("12345678901234567890")
                chat.interrupt()
                chat.expect(r"prompt \d+ tokens")
                chat.expect(PROMPT)
            chat.line("hi")
            chat.expect(r"Paris\.")
            chat.line("/bye")
            self.assertEqual(chat.ended(), 0)

    def test_ctrl_c_at_the_prompt_drops_the_line(self):
        with self.open() as chat:
            chat.expect(PROMPT)
            chat.send("/bye")
            chat.expect("/bye")
            chat.interrupt()
            chat.expect("Ctrl-D or /bye leaves")
            chat.expect(PROMPT)
            chat.line("hi")
            chat.expect(r"reply \d+ tokens[^\n]*\n>>> ")
            chat.signal()  # the same from another process
            chat.expect("Ctrl-D or /bye leaves")
            chat.expect(PROMPT)
            chat.send("\x04")
            self.assertEqual(chat.ended(), 0)

    def test_settings(self):
        with self.open() as chat:
            chat.expect(PROMPT)
            chat.line("/set max-tokens 3")
            chat.line("count")
            chat.expect(r"\n123\r\n")
            chat.line("/set parameter max_tokens 4")
            chat.line("count")
            chat.expect(r"\n1234\r\n")
            chat.line("/set temperature hot")
            chat.expect(r"skua: error: temperature: expected a number from 0 to 100, got 'hot'")
            chat.line("/set threads 2")
            chat.expect(r"skua: error: /set: expected a setting that /\? lists, got 'threads'")
            chat.line('/set system "Be kind."')
            chat.line("/show")
            chat.expect(r"max-tokens +4\r\n")
            chat.expect(r"system +Be kind\.\r\n")
            chat.line("/nonsense")
            chat.expect(r"unknown command /nonsense; /\? lists them")
            chat.line("/clear all")
            chat.expect(r"/clear takes nothing behind it, got 'all'")
            chat.line("/?")
            chat.expect("/set NAME VALUE")
            chat.expect(PROMPT)
            chat.send("\x04")
            self.assertEqual(chat.ended(), 0)

    def test_several_lines(self):
        with self.open() as chat:
            chat.expect(PROMPT)
            chat.line('"""ab')
            chat.expect(r"\.\.\. ")
            chat.line('cd"""')
            many = int(chat.expect(r"prompt (\d+) tokens").group(1))
            chat.line("/clear")
            chat.line("abxcd")
            self.assertEqual(int(chat.expect(r"prompt (\d+) tokens").group(1)), many)
            chat.line('"""given up')
            chat.expect(r"\.\.\. ")
            chat.interrupt()
            chat.expect(PROMPT)
            chat.line("/bye")
            self.assertEqual(chat.ended(), 0)

    def test_letters_of_several_bytes_and_editing(self):
        with self.open(variables={"LC_ALL": "C"}) as chat:
            chat.expect(PROMPT)
            chat.line("é€😀")
            nine = int(chat.expect(r"prompt (\d+) tokens").group(1))
            chat.line("/clear")
            chat.expect(r"forgotten\.\r\n>>> ")
            chat.line("éx\x7f\x7f123456789")  # two letters taken back
            self.assertEqual(int(chat.expect(r"prompt (\d+) tokens").group(1)), nine)
            chat.line("/clear")
            chat.expect(r"forgotten\.\r\n>>> ")
            chat.line("\x1b[A\x1b[A")  # the message before /clear
            self.assertEqual(int(chat.expect(r"prompt (\d+) tokens").group(1)), nine)
            chat.expect(PROMPT)
            chat.send("\x04")
            self.assertEqual(chat.ended(), 0)

    def test_a_conversation_that_outgrows_the_context(self):
        with self.open("--context", "70") as chat:
            chat.expect(PROMPT)
            chat.line("hi")
            chat.expect(r"Paris\.")
            chat.line("hi")
            chat.expect(r"Paris\.")
            chat.line("hi")
            found = chat.expect(r"skua: error: the conversation has (\d+) tokens with this message, the context holds "
                                r"(\d+); /clear")
            self.assertEqual(found.group(2), "70")
            self.assertGreaterEqual(int(found.group(1)), 70)
            chat.line("/clear")
            chat.line("hi")
            chat.expect(r"Paris\.")
            chat.line("/clear")
            chat.line("count")
            chat.expect(r"warning: the reply stopped because the context of 70 tokens is full")
            chat.line("/bye")
            self.assertEqual(chat.ended(), 0)

    def test_a_prompt_on_the_command_line_is_answered_without_a_chat(self):
        with self.open("-p", "hi") as program:
            program.expect(r"Paris\.\r\n")
            self.assertEqual(program.ended(), 0)

    def test_hanging_up_ends_the_program(self):
        with self.open() as chat:
            chat.expect(PROMPT)
            chat.signal(15)
            self.assertEqual(chat.ended(), -15)


class Bar(ProgramTest):
    def test_a_terminal_sees_the_bar_and_a_pipe_does_not(self):
        with Terminal(self, "run", self.model, "-p", "hi") as program:
            program.expect(r"Loading  \[[#.]+\] +\d+%")
            self.assertEqual(program.ended(), 0)
        self.assertNotIn("Loading", self.run_skua("run", self.model, "hi").stderr)


if __name__ == "__main__":
    unittest.main()
