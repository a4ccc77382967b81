"""What is read from telemetry."""

from __future__ import annotations

from typing import Any

from stores.vector_segments import look


def segment(name: str, points: int, deleted: int) -> dict[str, Any]:
    return {"info": {"uuid": name, "num_points": points, "num_deleted_vectors": deleted}}


def told(*segments: dict[str, Any], status: str = "green", **shard: Any) -> dict[str, Any]:
    local = {"status": status, "segments": list(segments)}
    config = {"optimizer_config": {"vacuum_min_vector_number": 100}}
    shards = [{"local": local, "remote": []} | shard]
    other = {"id": "other", "shards": [{"local": {"status": "yellow", "segments": [segment("z", 1, 1)]}}]}
    return {"id": "x", "collections": {"collections": [other, {"id": "memories", "config": config, "shards": shards}]}}


def test_segments_with_deleted_points_are_dirty_and_small_ones_stuck() -> None:
    seen = look(told(segment("a", 500, 0), segment("b", 500, 1), segment("c", 98, 1)), "memories")
    assert seen.names == {"a", "b", "c"} and seen.dirty == {"b", "c"} and seen.stuck == {"c"}
    assert not seen.busy and not seen.hidden and not seen.embedded


def test_a_rebuild_under_way_is_told() -> None:
    assert look(told(status="yellow"), "memories").busy and look(told(status="grey"), "memories").busy


def test_a_shard_on_the_move_and_a_failed_flush_are_no_rest() -> None:
    moving, failed = told(), told(local={"status": "green", "optimizations": {"status": {"error": "disk full"}}})
    moving["collections"]["collections"][1]["transfers"] = [{"shard_id": 0}]
    assert look(moving, "memories").busy and look(failed, "memories").busy
    assert not look(told(local={"status": "green", "optimizations": {"status": "ok"}}), "memories").busy


def test_a_log_is_cut_some_flushes_later() -> None:
    answer = told()
    answer["collections"]["collections"][1]["config"]["optimizer_config"]["flush_interval_sec"] = 5
    assert look(answer, "memories").log_seconds == 15


def test_what_lies_on_another_server_is_hidden() -> None:
    assert look(told(remote=[{"peer_id": 2}]), "memories").hidden
    assert look(told(local=None), "memories").hidden
    assert look({"id": "x"}, "memories").hidden
