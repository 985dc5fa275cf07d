#!/usr/bin/env python3
"""A server that answers as a running vLLM does, as far as `dsv4-doctor watch` asks it.

    scripts/fake_vllm_server.py [PORT]

``/metrics`` has the metrics of vLLM 0.33.0 that the watch reads, with counters that grow at every
look, and ``/v1/completions`` has a prefix cache that hits from the second time on. It is for tests
and for trying the watch on a machine with GPUs and no model. Every value can be set.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, final

_COUNTERS = (
    *("prefix_cache_queries", "prefix_cache_hits", "num_preemptions"),
    *("prompt_tokens", "generation_tokens"),
)


@final
class FakeVllm:
    """A server in a thread.

    Attributes:
        values: By the metric's name without ``vllm:``.
        grow: How much each counter grows at every look.
        cached: Prompts that were sent before.
    """

    def __init__(self, port: int = 0, model: str = "deepseek-ai/DeepSeek-V4-Flash") -> None:
        self.model = model
        self.values: dict[str, float] = {
            "num_requests_running": 8,
            "num_requests_waiting": 2,
            "kv_cache_usage_perc": 0.42,
            "prefix_cache_queries": 0,
            "prefix_cache_hits": 0,
            "num_preemptions": 0,
            "prompt_tokens": 0,
            "generation_tokens": 0,
        }
        self.grow: dict[str, float] = {
            "prefix_cache_queries": 1000,
            "prefix_cache_hits": 600,
            "prompt_tokens": 1000,
            "generation_tokens": 500,
        }
        self.cached: set[str] = set()
        self.seen: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"fake": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> FakeVllm:
        self.thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}"

    def page(self) -> str:
        """Return the page of metrics, and let the counters grow."""
        with self._lock:
            for name, more in self.grow.items():
                self.values[name] += more
            labels = f'{{engine="0",model_name="{self.model}"}}'
            lines = [
                "# TYPE vllm:cache_config_info gauge",
                'vllm:cache_config_info{block_size="256",cache_dtype="fp8",engine="0"} 1.0',
            ]
            for name, value in self.values.items():
                kind = "counter" if name in _COUNTERS else "gauge"
                end = "_total" if name in _COUNTERS else ""
                lines += [
                    f"# HELP vllm:{name}{end} Of a server that is none.",
                    f"# TYPE vllm:{name}{end} {kind}",
                    f"vllm:{name}{end}{labels} {value}",
                ]
            return "\n".join(lines) + "\n"

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a completion, and count its prompt in the prefix cache."""
        prompt = str(request.get("prompt", ""))
        with self._lock:
            self.values["prefix_cache_queries"] += len(prompt)
            self.values["prefix_cache_hits"] += len(prompt) if prompt in self.cached else 0
            self.cached.add(prompt)
        return {"model": self.model, "choices": [{"text": "x"}]}


class _Handler(BaseHTTPRequestHandler):
    fake: FakeVllm

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer ``/metrics``."""
        if self.path != "/metrics":
            self._send(404, "text/plain", b"not found")
            return
        kind = "text/plain; version=0.0.4; charset=utf-8"
        self._send(200, kind, self.fake.page().encode())

    def do_POST(self) -> None:
        """Answer a completion, and keep any other document."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/completions":
            answer = self.fake.complete(body)
        else:
            self.fake.seen.append(body)
            answer = {}
        self._send(200, "application/json", json.dumps(answer).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(arguments: list[str]) -> int:
    """Serve until interrupted."""
    with FakeVllm(int(arguments[0]) if arguments else 8000) as fake:
        print(fake.url, flush=True)
        try:
            fake.thread.join()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
