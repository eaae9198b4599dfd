#!/usr/bin/env python3
"""Speaks TLS to clients of PostgreSQL, and forwards their data to a server without TLS. The server's data goes out in
records of up to 16 KiB, the largest of TLS. A longer answer begins with a record of 100 bytes, so that the records do
not end with libpq's buffer.

    tls_proxy.py PORT CERTIFICATE KEY     prints its own port, and ends when its input does"""
import os
import select
import socket
import ssl
import sys
import threading
import time


def gather(source, first):
    """Returns the data until the source pauses, up to a record and 100 bytes."""
    data = first
    while len(data) < 16484 and select.select([source], [], [], 0.02)[0]:
        more = source.recv(16484 - len(data))
        if not more:
            break
        data += more
    return data


def answer(server, client):
    while data := server.recv(65536):
        data = gather(server, data)
        if len(data) > 2000:
            client.sendall(data[:100])
            data = data[100:]
            time.sleep(0.01)  # so that the client reads these first
        client.sendall(data)


def ask(client, server):
    while data := client.recv(65536):
        server.sendall(data)


def run(work, source, target):
    try:
        work(source, target)
    except OSError:
        pass
    for end in source, target:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, port, context):
    server = socket.create_connection(("127.0.0.1", port))
    request = client.recv(8)
    if request[4:] != b"\x04\xd2\x16\x2f":  # not an SSLRequest, but a cancel request, which is not encrypted
        server.sendall(request)
    else:
        client.sendall(b"S")
        client = context.wrap_socket(client, server_side=True)
    threading.Thread(target=run, args=(answer, server, client), daemon=True).start()
    run(ask, client, server)


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    listener = socket.create_server(("127.0.0.1", 0))
    os.write(1, b"%d\n" % listener.getsockname()[1])  # in one piece
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    while True:
        client = listener.accept()[0]
        threading.Thread(target=serve, args=(client, int(sys.argv[1]), context), daemon=True).start()


main()
