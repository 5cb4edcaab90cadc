"""Run by tests/it/bindings.rs: `fake` can be installed, and the archive of `slow` never ends."""

import asyncio
import os
import threading
import unittest

from acp_registry import Registry, RpcError

FLAGS = os.environ["RPC_FLAGS"].split(" ")


class Test(unittest.TestCase):
    def test_a_failed_request_has_the_code_and_the_suggestions_of_the_command(self):
        with Registry(FLAGS) as registry, self.assertRaises(RpcError) as failed:
            registry.request("info", {"agent": "fakee"})
        self.assertEqual(failed.exception.code, -32002)
        self.assertEqual(failed.exception.data["suggestions"], ["fake"])

    def test_requests_run_at_the_same_time_and_one_can_be_cancelled(self):
        downloading = threading.Event()
        with Registry(FLAGS) as registry:
            slow = registry.begin(
                "install", {"agents": ["slow"]}, lambda event: event.get("phase") == "downloading" and downloading.set()
            )
            self.assertTrue(downloading.wait(60))
            self.assertEqual(len(registry.request("list")["agents"]), 2)
            slow.cancel()
            with self.assertRaises(RpcError) as failed:
                slow.result(60)
        self.assertEqual(failed.exception.code, -32800)

    def test_a_callback_that_fails_fails_its_own_request_only(self):
        def fail(event):
            raise LookupError("mine")

        with Registry(FLAGS) as registry:
            slow = registry.begin("install", {"agents": ["slow"]}, fail)
            with self.assertRaises(LookupError):
                slow.result(60)
            self.assertEqual(len(registry.begin("list").result(60)["agents"]), 2)

    def test_whoever_gives_up_keeps_nobody_waiting(self):
        async def give_up(registry):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.wrap_future(slow.future), 0.05)

        with Registry(FLAGS) as registry:
            slow = registry.begin("install", {"agents": ["slow"]})
            asyncio.run(give_up(registry))
            slow.cancel()
            self.assertEqual(len(registry.begin("list").result(60)["agents"]), 2)

    def test_an_answer_without_an_id_fails_the_requests_that_wait_for_one(self):
        with Registry(program=os.environ["RPC_NAMELESS"]) as registry, self.assertRaises(RpcError) as failed:
            registry.begin("list").result(60)
        self.assertEqual(failed.exception.code, -32700)

    def test_a_program_that_ends_in_the_middle_of_a_request_can_be_closed(self):
        with Registry(["ends"], program=os.environ["RPC_NAMELESS"]) as registry:
            # More than a pipe holds.
            request = registry.begin("search", {"query": "x" * 500_000})
            with self.assertRaises(ConnectionError):
                request.result(60)
        self.assertEqual(registry._process.returncode, 3)

    def test_a_program_that_is_missing_or_ends_is_an_error_of_its_requests(self):
        with self.assertRaises(FileNotFoundError):
            Registry(program="no-such-program")
        with Registry(["--no-such-flag"]) as registry, self.assertRaises(ConnectionError):
            registry.request("list")


unittest.main()
