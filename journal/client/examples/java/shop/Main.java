package shop;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import landed.Answer;
import landed.EffectKey;
import landed.Journal;
import landed.JournalException;
import landed.Json;

/**
 * A worker that lets an agent charge for an order: started again after a crash with the same
 * {@code --run}, it goes on where the journal says. The key is minted in {@link #main}, before the
 * first loop and outside of everything that repeats.
 */
public final class Main {
    private static final Map<String, Integer> EXIT =
            Map.of("done", 0, "refused", 3, "abandoned", 4, "hard_stop", 5, "unknown", 6, "in_progress", 7);

    private final Flags flags;
    private final Journal journal;
    private final PaymentTools tools;
    private final Agent agent;

    private Main(Flags flags) {
        this.flags = flags;
        Journal.Settings settings = new Journal.Settings(
                Duration.ofSeconds(10), flags.millis("lease", 30_000), flags.millis("patience", 30_000), flags.millis("report-patience", 60_000));
        journal = new Journal(URI.create(flags.text("landed")), System.getenv("LANDED_TOKEN"), settings);
        EffectKey key = EffectKey.derive(flags.text("run"), "charge", PaymentTools.TOOL, "");
        PaymentGateway gateway = new PaymentGateway(URI.create(flags.text("gateway")), flags.millis("timeout", 10_000));
        tools = new PaymentTools(journal, gateway, key);
        ChargeRequest wish = new ChargeRequest(
                flags.text("order", "A1"), flags.number("amount", 1250), flags.text("currency", "EUR"), flags.text("note", "one jar of honey"));
        agent = new Agent(tools, wish, flags.number("model-failures", 0));
    }

    public static void main(String[] args) throws Exception {
        Main worker = new Main(new Flags(args));
        System.exit(worker.run());
    }

    private int run() throws Exception {
        String toolClass = flags.text("class", "at_most_once");
        Json.Writer tool = new Json.Writer().put("class", toolClass).put("client_timeout", flags.millis("timeout", 10_000).toMillis())
                .put("identity_fields", List.of("order", "amount", "currency")); // a note that a model words anew makes the same call
        if (toolClass.equals("provider_idempotent")) {
            tool.put("key_window", flags.millis("key-window", 86_400_000).toMillis());
        }
        try {
            journal.register(PaymentTools.TOOL, tool);
        } catch (JournalException e) {
            Say.event("no_journal", new Json.Writer().put("error", e.getMessage()));
            return 1;
        }
        while (true) {
            converse(flags.number("retries", 3));
            Answer answer = tools.last();
            if (answer == null) {
                return 1;
            }
            if (answer.settled()) {
                Say.event("finished", answer.json());
                return EXIT.get(answer.status());
            }
            Say.event("stopped", answer.json());
            Json decision = answer.parked() ? journal.awaitDecision(answer.effectId(), answer.cursor(), flags.millis("wait", 3_600_000)) : null;
            if (decision == null) {
                return EXIT.get(answer.status()); // ask again later: the key stays
            }
            Say.event("resumed", new Json.Writer().put("resolution", decision.string("resolution", "")).put("by", decision.string("by", "")));
        }
    }

    /** The agent loop under a time limit and with retries, as annotations on an AI service give it. */
    private void converse(int retries) throws InterruptedException {
        for (int n = 0; n <= retries; n++) {
            FutureTask<String> loop = new FutureTask<>(agent::converse);
            new Thread(loop, "agent-loop").start();
            try {
                Say.event("told", new Json.Writer().put("text", loop.get(flags.millis("loop-timeout", 600_000).toMillis(), TimeUnit.MILLISECONDS)));
                return;
            } catch (TimeoutException e) {
                loop.cancel(true); // interrupts the loop, not the attempt below it
                Say.event("loop_timed_out", new Json.Writer());
            } catch (ExecutionException e) {
                Say.event("loop_failed", new Json.Writer().put("error", String.valueOf(e.getCause())));
            }
        }
    }
}
