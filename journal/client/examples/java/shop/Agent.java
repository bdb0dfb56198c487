package shop;

import landed.Json;

/**
 * Stands for an AI service: a model that asks for the tool, reads its answer and says the last
 * word. It follows a script; what matters is that it may be cut off after the tool ran, and that it
 * words its wish anew every time.
 */
final class Agent {
    /** The model's provider failed. In a real loop this is a time-out, a 429 or a 500. */
    static final class ModelException extends Exception {
        private static final long serialVersionUID = 1L;

        ModelException(String what) {
            super(what);
        }
    }

    private final PaymentTools tools;
    private final ChargeRequest wish;
    private int failures;
    private int rounds;

    Agent(PaymentTools tools, ChargeRequest wish, int failures) {
        this.tools = tools;
        this.wish = wish;
        this.failures = failures;
    }

    /** The whole loop, from the question to the last word. */
    String converse() throws ModelException, InterruptedException {
        String note = rounds++ == 0 ? wish.note() : wish.note() + ", round " + rounds;
        String told = tools.chargeOrder(new ChargeRequest(wish.order(), wish.amount(), wish.currency(), note));
        Say.event("tool", new Json.Writer().put("text", told));
        if (failures-- > 0) {
            throw new ModelException("the model did not answer after the tool ran");
        }
        return told;
    }
}
