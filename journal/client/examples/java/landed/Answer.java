package landed;

import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * What a call came to. status is one of done, in_progress, unknown, refused, hard_stop, abandoned;
 * result is what the commit recorded, null if the effect was settled without one.
 */
public record Answer(
        String status, String directive, String effectId, long attempt, byte[] result, String providerId, String reason, long retryAfterMillis,
        long cursor, String settledBy) {

    private static final Set<String> WAITING = Set.of("in_progress", "retry_later", "verifying", "retry");

    /** Turns the directive of a begin or fail into an answer. */
    static Answer of(Json found, long attempt) {
        String directive = found.string("directive", "");
        String status = switch (directive) {
            case "return" -> "done";
            case "in_progress", "retry_later", "retry" -> "in_progress";
            case "rejected" -> "refused";
            case "hard_stop", "abandoned" -> directive;
            default -> "unknown"; // parked, verifying, and what a newer journal may say
        };
        String reason = found.string("reason", "");
        if (directive.equals("return") && found.string("state", "").equals("REJECTED")) {
            status = "refused";
            reason = found.string("refusal", "");
        }
        return new Answer(
                status, directive, found.string("effect_id", ""), found.integer("attempt", attempt), found.content("result"),
                found.string("provider_id", ""), reason, found.integer("retry_after_ms", 0), found.integer("cursor", 0), found.string("settled_by", ""));
    }

    static Answer done(String effectId, long attempt, Outcome outcome) {
        return new Answer("done", "return", effectId, attempt, outcome.result(), outcome.providerId(), "", 0, 0, "");
    }

    static Answer unknown(String directive, String effectId, long attempt, String reason) {
        return new Answer("unknown", directive, effectId, attempt, null, "", reason, 0, 0, "");
    }

    Answer refused(String why) {
        return new Answer(status, directive, effectId, attempt, result, providerId, why, retryAfterMillis, cursor, settledBy);
    }

    /** A person decides; wait from the cursor on. */
    public boolean parked() {
        return directive.equals("parked");
    }

    /** Nothing more will come of this call. */
    public boolean settled() {
        return !status.equals("in_progress") && !status.equals("unknown");
    }

    /** Asking again soon may give another answer. */
    boolean passing() {
        return WAITING.contains(directive) || directive.equals("return") && status.equals("unknown");
    }

    /** What to tell a model: not to do it again, whatever happened. */
    public String note() {
        return switch (status) {
            case "done" -> "Done. Do not repeat it.";
            case "in_progress" -> "Not done yet; an attempt runs or follows by itself. Do not start another: ask again with the same call later.";
            case "refused" -> "The provider refused and did nothing. The same call gets the same answer.";
            case "hard_stop" -> "Not executed, and no further try will be made now. Report this to a person.";
            case "abandoned" -> "A person closed this as not done, and it will not be executed. Do not repeat it.";
            default -> "The outcome is unknown: it may have happened. Do not repeat it in any way; a person or a look at the provider decides.";
        };
    }

    /** The form for a model or a log line. */
    public Json.Writer json() {
        Json.Writer out = new Json.Writer().put("status", status).put("note", note()).put("directive", directive).put("effect_id", effectId)
                .put("attempt", attempt).put("provider_id", providerId).put("reason", reason).put("settled_by", settledBy);
        if (retryAfterMillis > 0) {
            out.put("retry_after_ms", retryAfterMillis);
        }
        if (parked()) {
            out.put("cursor", cursor);
        }
        return result == null ? out : out.put("result", new String(result, StandardCharsets.UTF_8));
    }
}
