"""A proxy on this machine that passes connections on: `connect.py PORT-FILE`. It writes its port to the file.

Node.js for Windows opens connections only to this machine under Wine 8.
"""

import socket
import sys
import threading


def copy(source, target):
    try:
        while piece := source.recv(1 << 16):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()


def serve(client):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(1 << 12)
        if not piece:
            return
        head += piece
    host, _, port = head.split(b" ")[1].decode().rpartition(":")
    try:
        server = socket.create_connection((host, int(port)), timeout=60)
    except OSError:
        client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        client.close()
        return
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)


listener = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w") as file:
    print(listener.getsockname()[1], file=file)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
