"""Checked by mypy in tests/it/bindings.rs; never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_registry import Registry, RpcError, launch

if TYPE_CHECKING:
    from acp_registry import Event, ListAgent


def show(event: Event) -> None:
    if event["event"] == "installing":
        if event["phase"] == "downloading":
            print(event["received"])


with Registry(["--offline"]) as registry:
    agents: list[ListAgent] = registry.request("list", {"installed": True}).get("agents", [])
    name: str | None = agents[0]["name"]
    place: str = registry.request("info", {"agent": "x"})["installed_versions"][0]["install_dir"]
    call = registry.begin("install", {"agents": ["x"]}, on_event=show)
    launch(call.result(1)["agents"][0]).wait()
    program: str = registry.request("which", {"agent": "x"})["program"]
    try:
        status: str = registry.request("login", {"agent": "x"})["status"]
        signed_out = registry.request("logout", {"agent": "x"})
        reason: str | None = signed_out["error"]["code"] if "error" in signed_out else None
        methods: int = len(registry.request("login/methods", {"agent": "x"})["methods"])
    except RpcError as error:
        print(error.code, error.data["code"])
    registry.request("lst")  # type: ignore[call-overload]  # There is no such method.
    registry.request("info", {})  # type: ignore[call-overload]  # A parameter is missing.
    registry.request("list", {"instaled": True})  # type: ignore[call-overload]  # There is no such parameter.
