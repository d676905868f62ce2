"""Four threads and one lock, as the trials of packages record them."""

import threading

lock = threading.Lock()
left = [20000] * 4


def work(own):
    while left[own]:
        with lock:
            left[own] -= 1


threads = [threading.Thread(target=work, args=(own,)) for own in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print("left", sum(left))
