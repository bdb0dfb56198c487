package landed;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One attempt from its grant to its report, with the heartbeats between. */
final class Attempt {
    private static final int MAX_ERROR = 2_000;

    private final Calls calls;
    private final Journal.Settings settings;
    private final Call call;
    private final Grant grant;
    private final String leaseToken;
    private final long heartbeatMillis;
    private final String path;

    Attempt(Calls calls, Journal.Settings settings, Call call, Grant grant, Json found) {
        this.calls = calls;
        this.settings = settings;
        this.call = call;
        this.grant = grant;
        this.leaseToken = found.string("lease_token", "");
        this.heartbeatMillis = Math.max(found.integer("lease_for_ms", 0) / 3, 50);
        this.path = "/effects/" + grant.effectId();
    }

    Answer run(Effect effect) throws JournalException, DoneUnrecordedException, InterruptedException {
        CountDownLatch over = new CountDownLatch(1);
        Thread heart = new Thread(() -> keepAlive(over), "landed-heartbeat-" + grant.effectId());
        heart.setDaemon(true);
        heart.start();
        try {
            Outcome outcome;
            try {
                outcome = effect.execute(grant);
            } catch (Throwable error) { // also an Error: what is known is reported
                Answer answer = fail(error);
                if (error instanceof Error fatal) {
                    throw fatal;
                }
                return answer;
            }
            return commit(outcome);
        } finally {
            over.countDown();
        }
    }

    private void keepAlive(CountDownLatch over) {
        byte[] body = new Json.Writer().put("attempt", grant.attempt()).put("lease_token", leaseToken).bytes();
        try {
            while (!over.await(heartbeatMillis, TimeUnit.MILLISECONDS)) {
                Clock at = Clock.now();
                try {
                    grant.renewed(at, calls.send("POST", path + "/heartbeat", body, 0).integer("lease_for_ms", 0));
                } catch (UnavailableException e) {
                    continue; // the lease runs out by itself if this goes on
                }
            }
        } catch (JournalException e) {
            grant.lose();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Answer commit(Outcome outcome) throws JournalException, DoneUnrecordedException, InterruptedException {
        Json.Writer facts = report().put("provider_id", outcome.providerId()).put("replayed", outcome.replayed());
        byte[] bare = facts.bytes();
        try {
            Json taken;
            try {
                taken = offer("/commit", facts.content("result", outcome.result()).bytes());
            } catch (JournalException e) {
                if (!e.code().equals("invalid") && !e.code().equals("too_large")) {
                    throw e;
                }
                taken = offer("/commit", bare); // state first, content second
            }
            return Answer.done(taken.string("effect_id", grant.effectId()), grant.attempt(), outcome);
        } catch (JournalException e) {
            if (e.code().equals("commit_conflict")) {
                throw e;
            }
            throw new DoneUnrecordedException(grant.effectId(), outcome.providerId(), e);
        }
    }

    private Answer fail(Throwable error) throws InterruptedException {
        String text = error.getClass().getSimpleName() + ": " + error.getMessage();
        Json.Writer body = report().put("phase", grant.phase(error)).put("error", text.substring(0, Math.min(text.length(), MAX_ERROR)));
        if (error instanceof RefusedException no) {
            body.put("final", no.lasting).put("status", no.status).put("retry_after", no.retryAfterMillis);
        }
        Json found;
        try {
            found = offer("/fail", body.bytes());
        } catch (JournalException e) {
            // Without a report the attempt counts as sent: nothing is lost by that.
            return Answer.unknown("parked", grant.effectId(), grant.attempt(), "unreported");
        }
        if (found.string("directive", "").equals("return")) { // settled meanwhile: begin again returns it
            return Answer.unknown("return", grant.effectId(), grant.attempt(), "");
        }
        Answer answer = Answer.of(found, grant.attempt());
        return answer.status().equals("refused") ? answer.refused(error.getMessage()) : answer;
    }

    private Json offer(String report, byte[] body) throws JournalException, InterruptedException {
        return Calls.patiently(settings.reportPatience(), () -> calls.send("POST", path + report, body, 0));
    }

    private Json.Writer report() {
        return new Json.Writer().put("attempt", grant.attempt()).put("lease_token", leaseToken).put("key", call.key().toString())
                .put("tool", call.tool());
    }
}
