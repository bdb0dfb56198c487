package shop;

import java.util.Map;
import landed.Answer;
import landed.Call;
import landed.DoneUnrecordedException;
import landed.EffectKey;
import landed.Grant;
import landed.Journal;
import landed.JournalException;
import landed.Json;
import landed.Outcome;

/**
 * The tools that the model may use. One object per run: it holds the key that the caller minted,
 * so nothing that a model says or repeats can change it.
 */
public final class PaymentTools {
    static final String TOOL = "payment.charge";

    private final Journal journal;
    private final PaymentGateway gateway;
    private final EffectKey key;
    private volatile Answer last;

    PaymentTools(Journal journal, PaymentGateway gateway, EffectKey key) {
        this.journal = journal;
        this.gateway = gateway;
        this.key = key;
    }

    /** Always text for the model, never a bare error that invites it to try once more. */
    @Tool("Charges the customer for the order. Call it once; the answer says whether anything is left to do.")
    String chargeOrder(ChargeRequest request) throws InterruptedException {
        Call call = new Call(
                key, TOOL, "", "Charge " + request.decimal() + " " + request.currency() + " for order " + request.order(), request.decimal(),
                request.currency(), Map.of("order", request.order()), request.toJson());
        last = null;
        try {
            last = journal.run(call, this::charge);
            return last.json().toString();
        } catch (DoneUnrecordedException e) {
            Say.event("done_unrecorded", new Json.Writer().put("effect_id", e.effectId()).put("provider_id", e.providerId()));
            return "{\"status\":\"done\",\"note\":\"Charged, but not recorded yet. Do not repeat it; tell a person.\"}";
        } catch (JournalException e) {
            Say.event("journal_refused", new Json.Writer().put("code", e.code()).put("error", e.getMessage()).raw("fields", fields(e)));
            return "{\"status\":\"refused\",\"note\":\"Nothing was charged. Do not try it in another way; tell a person.\"}";
        }
    }

    private Outcome charge(Grant grant) throws Exception {
        Say.event("executing", new Json.Writer().put("effect_id", grant.effectId()).put("attempt", grant.attempt()).put("ref", grant.ref()));
        return gateway.charge(grant);
    }

    /** What the last call came to; null if the journal did not answer. */
    Answer last() {
        return last;
    }

    private static String fields(JournalException e) {
        String fields = e.problem() == null ? null : e.problem().raw("fields");
        return fields == null ? "[]" : fields;
    }
}
