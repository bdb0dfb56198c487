package shop;

import java.math.BigDecimal;
import java.util.Currency;
import landed.Json;

/** What a model asks for: the order, the amount in the currency's smallest unit, a word of its own. */
record ChargeRequest(String order, long amount, String currency, String note) {
    byte[] toJson() {
        return new Json.Writer().put("order", order).put("amount", amount).put("currency", currency).put("note", note).bytes();
    }

    static ChargeRequest fromJson(byte[] args) {
        Json in = Json.parse(args);
        return new ChargeRequest(in.string("order", ""), in.integer("amount", 0), in.string("currency", ""), in.string("note", ""));
    }

    /** The amount as people write it: 12.50. */
    String decimal() {
        return BigDecimal.valueOf(amount, Currency.getInstance(currency).getDefaultFractionDigits()).toPlainString();
    }
}
