package landed;

import java.util.Map;

/**
 * One call of a tool. subject, amount and labels are for the people who decide; args are raw bytes
 * and stay as they are. turn is what the retry budget is counted per, "" for the root run.
 */
public record Call(
        EffectKey key, String tool, String turn, String subject, String amount, String currency, Map<String, String> labels, byte[] args) {

    Call with(EffectKey successor) {
        return new Call(successor, tool, turn, subject, amount, currency, labels, args);
    }
}
