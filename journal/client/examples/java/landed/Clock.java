package landed;

/**
 * How much time has passed, the larger of wall and monotonic clock: a suspend stops the monotonic
 * one, and somebody may set the wall clock back.
 */
record Clock(long nanos, long millis) {
    static Clock now() {
        return new Clock(System.nanoTime(), System.currentTimeMillis());
    }

    /** Milliseconds since then. */
    long passed() {
        return Math.max((System.nanoTime() - nanos) / 1_000_000, System.currentTimeMillis() - millis);
    }
}
