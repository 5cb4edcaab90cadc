"""Lists the agents, installs the named one, starts it, and prints what it answers: python example.py ID"""

import json
import sys

from acp_registry import Registry, launch


def show(event):
    print(event["event"], event.get("phase") or event.get("message"), event.get("received", ""))


with Registry(args=sys.argv[2:]) as registry:
    agents = registry.request("list")["agents"]
    print(", ".join(f"{agent['id']} {agent['version']}" for agent in agents))
    installed = registry.request("install", {"agents": [sys.argv[1]]}, on_event=show)

agent = launch(installed["agents"][0])
params = {"protocolVersion": 1, "clientCapabilities": {}}
request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
agent.stdin.write(json.dumps(request).encode() + b"\n")
agent.stdin.flush()
print("answers", agent.stdout.readline().decode().rstrip())
agent.stdin.close()
agent.terminate()
