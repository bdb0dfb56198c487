package landed;

import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The effect journal behind Landed's worker API: begin before the provider is called, commit after
 * it confirmed. It keeps no state; the journal decides who may execute. Safe for several threads.
 *
 * <p>What it holds to, and a copy must too: no answer of begin, no call of the provider; the claim id
 * is random, in memory only, sent again only while no answer was read; remaining times count from
 * before the request; a confirmation is offered to the journal until it is taken, and the effect is
 * never done again instead.
 */
public final class Journal {
    private static final Duration BEGIN_PATIENCE = Duration.ofSeconds(10);
    private static final long MAX_POLL_MILLIS = 30_000;

    /**
     * How long the lease of an attempt is, how long run waits for what resolves by itself, and how
     * long a report is offered to a journal that can't be reached.
     */
    public record Settings(Duration timeout, Duration lease, Duration patience, Duration reportPatience) {
        public Settings() {
            this(Duration.ofSeconds(10), Duration.ofSeconds(30), Duration.ofSeconds(30), Duration.ofSeconds(60));
        }
    }

    private final Calls calls;
    private final Settings settings;
    private final SecureRandom random = new SecureRandom();

    public Journal(URI address, String token, Settings settings) {
        this.calls = new Calls(address, token, settings.timeout());
        this.settings = settings;
    }

    /** Makes a tool known, or changes it for new effects. Once at start. */
    public void register(String name, Json.Writer tool) throws JournalException, InterruptedException {
        byte[] body = tool.bytes();
        Calls.patiently(BEGIN_PATIENCE, () -> calls.send("PUT", "/tools/" + encode(name), body, 0));
    }

    /**
     * Executes the effect at most as often as its tool's class allows, or returns what is recorded.
     *
     * <p>It works in a thread of its own. When the caller is interrupted, as by a time limit on a
     * whole agent loop, run throws InterruptedException at once; an attempt that was sent still ends
     * and is reported, and the next call with the same key finds it. One that was not is given back.
     *
     * @throws JournalException the call was refused (key_reused: the key belongs to another call), or
     *     the journal can't be reached ({@link UnavailableException}); nothing was executed
     * @throws DoneUnrecordedException the provider confirmed, and the journal could not be told
     */
    public Answer run(Call call, Effect effect) throws JournalException, DoneUnrecordedException, InterruptedException {
        AtomicBoolean left = new AtomicBoolean();
        FutureTask<Answer> task = new FutureTask<>(() -> loop(call, effect, left));
        new Thread(task, "landed-run").start(); // no daemon: a normal exit waits for its report
        try {
            return task.get();
        } catch (InterruptedException e) {
            left.set(true);
            throw e;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof JournalException refused) {
                throw refused;
            }
            if (e.getCause() instanceof DoneUnrecordedException unrecorded) {
                throw unrecorded;
            }
            throw new IllegalStateException("running an effect of " + call.tool(), e.getCause());
        }
    }

    private Answer loop(Call call, Effect effect, AtomicBoolean left) throws JournalException, DoneUnrecordedException, InterruptedException {
        Clock asked = Clock.now();
        while (true) {
            Clock begun = Clock.now();
            Json found = begin(call);
            String successor = found.object("decision").string("successor_key", "");
            if (found.string("directive", "").equals("abandoned") && !successor.isEmpty()) {
                call = call.with(call.key().successor(successor)); // a person corrected it: that key hands out the corrected args
                continue;
            }
            Answer answer = found.string("directive", "").equals("execute") ? execute(call, effect, found, begun, left) : Answer.of(found, 0);
            long pause = Math.max(answer.retryAfterMillis(), 50);
            if (!answer.passing() || left.get() || asked.passed() + pause > settings.patience().toMillis()) {
                return answer;
            }
            Thread.sleep(pause);
        }
    }

    private Answer execute(Call call, Effect effect, Json found, Clock begun, AtomicBoolean left)
            throws JournalException, DoneUnrecordedException, InterruptedException {
        byte[] stored = found.content("args"); // what attempt 1 was told, or a person corrected
        Grant grant = new Grant(found, stored == null ? call.args() : stored, begun);
        return new Attempt(calls, settings, call, grant, found).run(permission -> {
            if (left.get()) {
                throw new NotSentException("the caller left before anything was sent", null);
            }
            return effect.execute(permission);
        });
    }

    /** Waits for a resolution of a parked effect after a cursor; null if there is none yet. */
    public Json awaitDecision(String effectId, long cursor, Duration wait) throws JournalException, InterruptedException {
        Clock asked = Clock.now();
        for (long left = wait.toMillis(); left > 0; left = wait.toMillis() - asked.passed()) {
            long part = Math.min(left, MAX_POLL_MILLIS);
            try {
                Json found = calls.send("GET", "/effects/" + encode(effectId) + "/decision?after=" + cursor + "&wait=" + part, null, part);
                if (found.raw("id") != null) {
                    return found;
                }
            } catch (UnavailableException e) {
                Thread.sleep(Math.min(1_000, part));
            }
        }
        return null;
    }

    private Json begin(Call call) throws JournalException, InterruptedException {
        Clock asked = Clock.now();
        long patience = Math.min(BEGIN_PATIENCE.toMillis(), settings.patience().toMillis());
        String claim = claim();
        while (true) {
            JournalException again;
            try {
                Json found = calls.send("POST", "/effects", request(call, claim), 0);
                if (found.raw("directive") != null) {
                    return found;
                }
                again = new UnavailableException("its answer holds no directive", null);
            } catch (UnavailableException e) {
                again = e; // no answer was read: the same claim gets the same grant
            } catch (JournalException e) {
                if (!e.code().equals("claim_used")) {
                    throw e;
                }
                again = e;
                claim = claim(); // its attempt was ours, and is over
            }
            if (asked.passed() > patience) {
                throw again;
            }
            Thread.sleep(200);
        }
    }

    private byte[] request(Call call, String claim) {
        return new Json.Writer().put("key", call.key().toString()).put("claim_id", claim).put("tool", call.tool())
                .put("root_run", call.key().rootRun()).put("turn", call.turn()).put("step", call.key().step())
                .put("operation", call.key().operation()).put("subject", call.subject()).put("amount", call.amount())
                .put("currency", call.currency()).put("labels", call.labels()).put("lease", settings.lease().toMillis())
                .content("args", call.args()).bytes();
    }

    private String claim() {
        byte[] claim = new byte[16];
        random.nextBytes(claim);
        return HexFormat.of().formatHex(claim);
    }

    private static String encode(String part) {
        return URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
