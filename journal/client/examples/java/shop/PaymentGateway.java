package shop;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import landed.GatedBody;
import landed.Grant;
import landed.Json;
import landed.NotSentException;
import landed.Outcome;
import landed.RefusedException;

/**
 * The payment provider's charges. Its only public method takes a {@link Grant}, which nothing but
 * the journal makes, and it charges what the grant says: nobody can charge around the journal, and
 * nobody can charge something else than was journaled.
 */
public final class PaymentGateway {
    private static final Set<Integer> NO = Set.of(400, 401, 402, 403, 404, 413, 415, 422);
    private static final Duration CONNECT = Duration.ofSeconds(3);

    private final URI charges;
    private final Duration timeout;
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).followRedirects(HttpClient.Redirect.NEVER).connectTimeout(CONNECT).build();

    /** timeout bounds one charge with all its answer; register it as the tool's client_timeout. */
    public PaymentGateway(URI charges, Duration timeout) {
        this.charges = charges;
        this.timeout = timeout;
    }

    /** Charges once. What it throws says how far it got: see {@link landed.Effect}. */
    public Outcome charge(Grant grant) throws Exception {
        ChargeRequest request = ChargeRequest.fromJson(grant.args());
        byte[] body = new Json.Writer().put("reference", grant.ref()).put("order", request.order()).put("amount", request.amount())
                .put("currency", request.currency()).put("note", request.note()).bytes();
        HttpRequest post = HttpRequest.newBuilder(charges).header("Content-Type", "application/json")
                .header("Idempotency-Key", grant.providerKey()).POST(new GatedBody(grant, body)).build();
        grant.demand(CONNECT.toMillis()); // connecting may take that long, and the first byte must not be late
        return judge(send(post));
    }

    private HttpResponse<byte[]> send(HttpRequest post) throws NotSentException, IOException, InterruptedException {
        Future<HttpResponse<byte[]>> answer = http.sendAsync(post, BodyHandlers.ofByteArray());
        try {
            return answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            // Only these two prove that there was no connection. Whatever comes later may have been sent.
            if (e.getCause() instanceof ConnectException || e.getCause() instanceof HttpConnectTimeoutException) {
                throw new NotSentException("connecting to the payment provider", e.getCause());
            }
            throw new IOException("calling the payment provider", e.getCause());
        } catch (TimeoutException e) {
            throw new IOException("the payment provider did not answer in time", e);
        } finally {
            answer.cancel(true);
        }
    }

    /** Reads the answer. Neither a clear yes nor a clear no is an IOException: it may have happened. */
    private static Outcome judge(HttpResponse<byte[]> answer) throws RefusedException, IOException {
        int status = answer.statusCode();
        String text = new String(answer.body(), StandardCharsets.UTF_8);
        if (status == 429) {
            long seconds = answer.headers().firstValue("Retry-After").filter(s -> s.matches("[0-9]{1,6}")).map(Long::parseLong).orElse(1L);
            throw RefusedException.forNow(status, "rate limited", seconds * 1000);
        }
        if (NO.contains(status)) {
            throw RefusedException.forGood(status, status + ": " + text);
        }
        if (status != 200 && status != 201) {
            throw new IOException("the payment provider answered " + status);
        }
        String id;
        try {
            id = Json.parse(answer.body()).string("id", "");
        } catch (IllegalArgumentException e) {
            throw new IOException("the payment provider's yes can't be read", e);
        }
        if (id.isEmpty()) {
            throw new IOException("the payment provider's yes holds no id");
        }
        return new Outcome(answer.body(), id, answer.headers().firstValue("Idempotent-Replayed").filter("true"::equals).isPresent());
    }
}
