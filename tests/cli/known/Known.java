// Known.java -- one thread waits for a lock, again and again, that another holds. Argument: monitor,
// reentrant, read, write, shared (who holds it reads, who waits writes), semaphore, or tried: a
// reentrant one that is wanted for a short time, again and again.
// Prints NANOSECONDS WAITER HOLDER TRIES, two being threads' names, the last how many were in vain.
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.*;

public class Known {
    static final Object monitor = new Object();
    static final ReentrantLock reentrant = new ReentrantLock();
    static final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    static final Semaphore semaphore = new Semaphore(1);
    static final AtomicLong round = new AtomicLong(), done = new AtomicLong();
    static String kind;
    static long waited, inVain;

    static void nap(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    static Lock lock(boolean holds) {
        if (kind.equals("reentrant") || kind.equals("tried")) return reentrant;
        return kind.equals(holds ? "shared" : "read") ? both.readLock() : both.writeLock();
    }

    static void keep(long number) {
        round.set(number);
        nap(60);
    }

    static void holdHere(long number) {
        if (kind.equals("monitor")) {
            synchronized (monitor) {
                keep(number);
            }
            return;
        }
        if (kind.equals("semaphore")) {
            semaphore.acquireUninterruptibly();
            keep(number);
            semaphore.release();
            return;
        }
        lock(true).lock();
        keep(number);
        lock(true).unlock();
    }

    static void waitHere() {
        if (kind.equals("monitor")) {
            synchronized (monitor) {
                return;
            }
        }
        if (kind.equals("semaphore")) {
            semaphore.acquireUninterruptibly();
            semaphore.release();
            return;
        }
        while (kind.equals("tried") && !tried()) inVain++;
        if (!kind.equals("tried")) lock(false).lock();
        lock(false).unlock();
    }

    static boolean tried() {
        try {
            return reentrant.tryLock(7, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] words) throws Exception {
        kind = words.length > 0 ? words[0] : "monitor";
        long times = words.length > 1 ? Long.parseLong(words[1]) : 5;
        Thread holder = new Thread(() -> {
            for (long i = 1; i <= times; i++) {
                while (done.get() != i - 1) nap(1);
                holdHere(i);
            }
        }, "the-holder");
        Thread waiter = new Thread(() -> {
            for (long i = 1; i <= times; i++) {
                while (round.get() != i) nap(1);
                long begin = System.nanoTime();
                waitHere();
                waited += System.nanoTime() - begin;
                done.set(i);
            }
        }, "the-waiter");
        holder.start();
        waiter.start();
        holder.join();
        waiter.join();
        System.out.println(waited + " the-waiter the-holder " + inVain);
    }
}
