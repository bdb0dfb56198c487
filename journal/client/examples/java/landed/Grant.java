package landed;

import java.util.Objects;

/**
 * One permission to execute: an attempt of one effect. Only {@link Journal#run} hands it out, after
 * begin answered {@code execute}; there is no other way to make one. A class that causes effects
 * takes a Grant in its only public method, and then nobody can call it without the journal.
 *
 * <p>Write {@link #ref} to the provider, never the key.
 */
public final class Grant {
    private final String effectId;
    private final long attempt;
    private final String ref;
    private final String providerKey;
    private final byte[] args;
    private final Clock begun;
    private final long sendByMillis;

    private Clock leased;
    private long leaseMillis;
    private boolean lost;
    private boolean sent;

    Grant(Json answer, byte[] args, Clock begun) {
        this.effectId = Objects.requireNonNull(answer.string("effect_id", null), "effect_id");
        this.attempt = answer.integer("attempt", 0);
        this.ref = Objects.requireNonNull(answer.string("ref", null), "ref");
        this.providerKey = answer.string("provider_key", "");
        this.args = args;
        this.begun = begun;
        // Past its window the provider no longer knows the key: the same request would be a second one.
        this.sendByMillis = Math.min(answer.integer("send_by_ms", 0), answer.integer("key_window_ms", Long.MAX_VALUE));
        this.leased = begun;
        this.leaseMillis = answer.integer("lease_for_ms", 0);
    }

    public String effectId() {
        return effectId;
    }

    public long attempt() {
        return attempt;
    }

    /** The reference to write to the provider: 32 hex digits, the same for every attempt. */
    public String ref() {
        return ref;
    }

    /** The provider-side idempotency key: kept by automatic attempts, new for an order with a new key. */
    public String providerKey() {
        return providerKey;
    }

    /** What to execute: the args that the journal holds, not what a model says now. */
    public byte[] args() {
        return args.clone();
    }

    /**
     * Refuses unless that much time is left to write the first byte. Call it before connecting, with
     * what connecting may take: less than a lease. Heartbeats renew the lease, never this time.
     */
    public synchronized void demand(long millis) throws TooLateException {
        if (lost || sent || begun.passed() + millis >= sendByMillis || leased.passed() >= leaseMillis) {
            throw new TooLateException("too late to send, the lease is lost, or the attempt was used already");
        }
    }

    /**
     * Call right before the first byte of what causes the effect, once. From then on the outcome
     * counts as unknown until it is reported otherwise.
     */
    public synchronized void sending() throws TooLateException {
        demand(0);
        sent = true;
    }

    synchronized void renewed(Clock at, long millis) {
        leased = at;
        leaseMillis = millis;
    }

    synchronized void lose() {
        lost = true;
    }

    /** How far the attempt got. The record outweighs the word of the code that failed. */
    synchronized String phase(Throwable error) {
        if (error instanceof RefusedException) {
            return "refused";
        }
        return error instanceof NotSentException && !sent ? "not_sent" : "sent";
    }
}
