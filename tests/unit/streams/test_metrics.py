"""Health tells progress from existence."""

from __future__ import annotations

import httpx

from streams import metrics


def test_the_three_paths() -> None:
    state = [True, "progress"]
    server = metrics.serve(0, lambda: (bool(state[0]), str(state[1])))
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}") as http:
            assert http.get("/healthz").status_code == 200
            assert http.get("/readyz").json() == {"ready": True, "why": "progress"}
            metrics.LAG.labels("toy", "memory.turns").set(3)
            assert 'obelus_lag{consumer="toy",topic="memory.turns"} 3.0' in http.get("/metrics").text
            state[:] = [False, "no position has moved"]
            refused = http.get("/readyz")
            assert (refused.status_code, refused.json()["why"]) == (503, "no position has moved")
            assert http.get("/other").status_code == 404
    finally:
        server.shutdown()
        server.server_close()


def test_the_contracts_names() -> None:
    text = metrics.generate_latest().decode()
    for name in (
        "obelus_events_total",
        "obelus_stage_seconds",
        "obelus_lag",
        "obelus_decisions_total",
        "obelus_dead_letters_total",
        "obelus_memories",
        "obelus_cache_total",
        "obelus_drift",
        "obelus_erasures",
        "obelus_erasure_oldest_seconds",
        "obelus_erased_source_total",
    ):
        assert f"# TYPE {name.removesuffix('_total')}" in text.replace("_total ", " ")
