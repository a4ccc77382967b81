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


SERVER = {
    "id": "e4cc039c-0312-4950-b188-7c534595eb18",
    "app": {"name": "qdrant", "version": "1.18.3"},
    "collections": {
        "number_of_collections": 1,
        "collections": [
            {
                "id": "memories",
                "init_time_ms": 11,
                "config": {
                    "optimizer_config": {
                        "deleted_threshold": 0.0,
                        "vacuum_min_vector_number": 100,
                        "default_segment_number": 2,
                        "max_segment_size": None,
                        "indexing_threshold": 10000,
                        "flush_interval_sec": 1,
                    },
                    "wal_config": {"wal_capacity_mb": 1, "wal_segments_ahead": 0, "wal_retain_closed": 1},
                },
                "shards": [
                    {
                        "id": 0,
                        "key": None,
                        "local": {
                            "variant_name": "local shard",
                            "status": "green",
                            "segments": [
                                {
                                    "info": {
                                        "uuid": "d78e1237-228f-4a1d-a5de-6837fd0a4dc7",
                                        "segment_type": "plain",
                                        "num_vectors": 104,
                                        "num_points": 104,
                                        "num_deleted_vectors": 0,
                                        "is_appendable": True,
                                    },
                                    "vector_index_searches": [{"index_name": ""}],
                                },
                                {
                                    "info": {
                                        "uuid": "f7ab9615-2f8f-45a6-ba40-7b7946903388",
                                        "segment_type": "plain",
                                        "num_vectors": 92,
                                        "num_points": 92,
                                        "num_deleted_vectors": 5,
                                        "is_appendable": True,
                                    },
                                    "vector_index_searches": [{"index_name": ""}],
                                },
                            ],
                            "optimizations": {"status": "ok", "optimizations": {"count": 0}, "log": []},
                            "update_queue": {"length": 0, "op_num": 42},
                        },
                        "remote": [],
                        "replicate_states": {"3050289606747301": "Active"},
                        "partial_snapshot": {"ongoing_create_snapshot_requests": 0, "is_recovering": False},
                    }
                ],
                "transfers": [],
                "resharding": [],
            }
        ],
    },
}
"""How Qdrant 1.18.3 tells of a collection, shortened; it leaves out much that `qdrant-client`'s models of it ask for.

The name and the deletions in the second segment are put in: the server told of 97 points there and none deleted.
"""


def test_what_a_server_tells_is_read() -> None:
    seen = look(SERVER, "memories")
    small = "f7ab9615-2f8f-45a6-ba40-7b7946903388"
    assert seen.names == {"d78e1237-228f-4a1d-a5de-6837fd0a4dc7", small}
    assert seen.dirty == {small} == seen.stuck
    assert not (seen.busy or seen.hidden or seen.embedded) and seen.log_seconds == 3
