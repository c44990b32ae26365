"""A server with a thread for each connection, and more clients than it lets wait."""

import multiprocessing
import threading
from multiprocessing.connection import Client, Listener

import numpy as np
from layers import silu


def ask(address, number):
    with Client(address) as server:
        server.send(number)
        assert server.recv() == number + 1


def answer(client):
    client.send(client.recv() + 1)
    client.close()


def run_silu(in_features):
    with Listener(family="AF_UNIX") as listener:
        clients = [multiprocessing.Process(target=ask, args=(listener.address, number))
                   for number in range(8)]
        for client in clients:
            client.start()
        threads = [threading.Thread(target=answer, args=(listener.accept(),)) for _ in clients]
        for thread in threads:
            thread.start()
        for each in threads + clients:
            each.join()
    good = all(client.exitcode == 0 for client in clients)
    return silu(in_features) if good else np.full_like(in_features, np.nan)
