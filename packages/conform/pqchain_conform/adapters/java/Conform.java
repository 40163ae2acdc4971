// Adapter of Bouncy Castle's lightweight interface, with requests and answers as JSON lines.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bouncycastle.asn1.sec.SECNamedCurves;
import org.bouncycastle.asn1.x9.X9ECParameters;
import org.bouncycastle.crypto.DataLengthException;
import org.bouncycastle.crypto.kems.MLKEMExtractor;
import org.bouncycastle.crypto.kems.MLKEMGenerator;
import org.bouncycastle.crypto.params.MLDSAParameters;
import org.bouncycastle.crypto.params.MLDSAPublicKeyParameters;
import org.bouncycastle.crypto.params.MLKEMParameters;
import org.bouncycastle.crypto.params.MLKEMPrivateKeyParameters;
import org.bouncycastle.crypto.params.MLKEMPublicKeyParameters;
import org.bouncycastle.crypto.params.ParametersWithContext;
import org.bouncycastle.crypto.params.SLHDSAParameters;
import org.bouncycastle.crypto.params.SLHDSAPublicKeyParameters;
import org.bouncycastle.crypto.signers.HashSLHDSASigner;
import org.bouncycastle.crypto.signers.MLDSASigner;
import org.bouncycastle.crypto.signers.SLHDSASigner;
import org.bouncycastle.math.ec.ECAlgorithms;
import org.bouncycastle.pqc.crypto.falcon.FalconParameters;
import org.bouncycastle.pqc.crypto.falcon.FalconPublicKeyParameters;
import org.bouncycastle.pqc.crypto.falcon.FalconSigner;

public final class Conform {
    private static final Map<String, MLDSAParameters> ML_DSA = Map.of(
        "ML-DSA-44", MLDSAParameters.ml_dsa_44,
        "ML-DSA-65", MLDSAParameters.ml_dsa_65,
        "ML-DSA-87", MLDSAParameters.ml_dsa_87);
    private static final Map<String, SLHDSAParameters> SLH_DSA = Map.ofEntries(
        Map.entry("SLH-DSA-SHA2-128s", SLHDSAParameters.sha2_128s),
        Map.entry("SLH-DSA-SHA2-128f", SLHDSAParameters.sha2_128f),
        Map.entry("SLH-DSA-SHA2-192s", SLHDSAParameters.sha2_192s),
        Map.entry("SLH-DSA-SHA2-192f", SLHDSAParameters.sha2_192f),
        Map.entry("SLH-DSA-SHA2-256s", SLHDSAParameters.sha2_256s),
        Map.entry("SLH-DSA-SHA2-256f", SLHDSAParameters.sha2_256f),
        Map.entry("SLH-DSA-SHAKE-128s", SLHDSAParameters.shake_128s),
        Map.entry("SLH-DSA-SHAKE-128f", SLHDSAParameters.shake_128f),
        Map.entry("SLH-DSA-SHAKE-192s", SLHDSAParameters.shake_192s),
        Map.entry("SLH-DSA-SHAKE-192f", SLHDSAParameters.shake_192f),
        Map.entry("SLH-DSA-SHAKE-256s", SLHDSAParameters.shake_256s),
        Map.entry("SLH-DSA-SHAKE-256f", SLHDSAParameters.shake_256f));
    private static final Map<String, FalconParameters> FALCON = Map.of(
        "Falcon-512", FalconParameters.falcon_512,
        "Falcon-1024", FalconParameters.falcon_1024);

    private static final Map<String, MLKEMParameters> ML_KEM = Map.of(
        "ML-KEM-512", MLKEMParameters.ml_kem_512,
        "ML-KEM-768", MLKEMParameters.ml_kem_768,
        "ML-KEM-1024", MLKEMParameters.ml_kem_1024);

    private static final SecureRandom RANDOM = new SecureRandom();

    private static final X9ECParameters SECP256K1 = SECNamedCurves.getByName("secp256k1");

    private static final Pattern FIELD =
        Pattern.compile("\"(\\w+)\"\\s*:\\s*(?:\"([^\"\\\\]*)\"|(\\d+))");

    private final Map<String, String> fields = new java.util.HashMap<>();

    private String sharedSecret = "";

    /** Parses a flat object of strings without escapes and of integers, the form of all requests. */
    private Conform(String line) {
        Matcher field = FIELD.matcher(line);
        while (field.find()) {
            fields.put(field.group(1), field.group(2) == null ? field.group(3) : field.group(2));
        }
    }

    /** Byte strings of the other operations are empty. */
    private byte[] bytes(String name) {
        return HexFormat.of().parseHex(fields.getOrDefault(name, ""));
    }

    private static String judge(boolean valid) {
        return valid ? "accept" : "reject";
    }

    /**
     * Recovers a compressed public key from r, s, the recovery id, and a digest (SEC 1, 4.1.6), with
     * the library's curve of java-tron's ECKey, and with that class's check of the order of R.
     */
    private static byte[] recover(byte[] digest, byte[] signature) {
        var n = SECP256K1.getN();
        var r = new BigInteger(1, signature, 0, 32);
        var s = new BigInteger(1, signature, 32, 32);
        var x = new byte[33];
        x[0] = (byte) (2 + (signature[64] & 1));
        System.arraycopy(signature, 0, x, 1, 32);
        var point = SECP256K1.getCurve().decodePoint(x);
        if (!point.multiply(n).isInfinity()) {
            return new byte[0];
        }
        var inverse = r.modInverse(n);
        var a = inverse.multiply(new BigInteger(1, digest).negate()).mod(n);
        var b = inverse.multiply(s).mod(n);
        return ECAlgorithms.sumOfTwoMultiplies(SECP256K1.getG(), a, point, b).getEncoded(true);
    }

    private static String verify(String algorithm, byte[] key, byte[] message, byte[] context, byte[] signature) {
        try {
            if (ML_DSA.containsKey(algorithm)) {
                var signer = new MLDSASigner();
                var parameters = new MLDSAPublicKeyParameters(ML_DSA.get(algorithm), key);
                signer.init(false, new ParametersWithContext(parameters, context));
                signer.update(message, 0, message.length);
                return judge(signer.verifySignature(signature));
            }
            if (SLH_DSA.containsKey(algorithm)) {
                var signer = new SLHDSASigner();
                var parameters = new SLHDSAPublicKeyParameters(SLH_DSA.get(algorithm), key);
                signer.init(false, new ParametersWithContext(parameters, context));
                return judge(signer.verifySignature(message, signature));
            }
            if (algorithm.startsWith("Hash") && SLH_DSA.containsKey(algorithm.substring(4))) {
                // With the parameters of SLH-DSA, the hash function is that of NIST's identifier.
                var signer = new HashSLHDSASigner();
                var parameters = new SLHDSAPublicKeyParameters(SLH_DSA.get(algorithm.substring(4)), key);
                signer.init(false, new ParametersWithContext(parameters, context));
                signer.update(message, 0, message.length);
                return judge(signer.verifySignature(signature));
            }
            if (FALCON.containsKey(algorithm) && context.length == 0) {
                var parameters = FALCON.get(algorithm);
                // The class takes h only: the caller has to check the header and the length.
                if (key.length != 1 + 14 * (1 << parameters.getLogN()) / 8 || key[0] != parameters.getLogN()) {
                    return "refuse";
                }
                var h = Arrays.copyOfRange(key, 1, key.length);
                var signer = new FalconSigner();
                signer.init(false, new FalconPublicKeyParameters(parameters, h));
                return judge(signer.verifySignature(message, signature));
            }
            if (algorithm.equals("ecrecover")) {
                // Recovery ids 2 and 3 occur with a probability of 2^-128.
                if (signature.length != 65 || signature[64] > 1) {
                    return "refuse";
                }
                return judge(Arrays.equals(recover(message, signature), key));
            }
            return "unsupported";
        } catch (IllegalArgumentException | IllegalStateException | DataLengthException error) {
            return "refuse";
        } catch (RuntimeException error) {
            return "panic";
        }
    }

    /** Encapsulates to a key, or decapsulates and sets the shared secret; returns a verdict. */
    private String exchange(String algorithm, byte[] encapsulationKey, byte[] decapsulationKey, byte[] ciphertext) {
        var parameters = ML_KEM.get(algorithm);
        if (parameters == null) {
            return "unsupported";
        }
        try {
            if (fields.get("operation").equals("encapsulate")) {
                var key = new MLKEMPublicKeyParameters(parameters, encapsulationKey);
                new MLKEMGenerator(RANDOM).generateEncapsulated(key);
                return "accept";
            }
            var key = new MLKEMPrivateKeyParameters(parameters, decapsulationKey);
            sharedSecret = HexFormat.of().formatHex(new MLKEMExtractor(key).extractSecret(ciphertext));
            return "accept";
        } catch (IllegalArgumentException | IllegalStateException | DataLengthException error) {
            return "refuse";
        } catch (RuntimeException error) {
            return "panic";
        }
    }

    public static void main(String[] arguments) throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            var request = new Conform(line);
            byte[] key = request.bytes("public_key");
            byte[] message = request.bytes("message");
            byte[] context = request.bytes("context");
            byte[] signature = request.bytes("signature");
            byte[] encapsulationKey = request.bytes("encapsulation_key");
            byte[] decapsulationKey = request.bytes("decapsulation_key");
            byte[] ciphertext = request.bytes("ciphertext");
            String algorithm = request.fields.get("algorithm");
            boolean isSignature = request.fields.get("operation").equals("verify");
            var nanoseconds = new StringJoiner(",");
            String verdict = "";
            int repeat = Math.max(1, Integer.parseInt(request.fields.get("repeat")));
            for (int i = 0; i < repeat; i++) {
                long start = System.nanoTime();
                verdict = isSignature
                    ? verify(algorithm, key, message, context, signature)
                    : request.exchange(algorithm, encapsulationKey, decapsulationKey, ciphertext);
                nanoseconds.add(Long.toString(System.nanoTime() - start));
            }
            System.out.printf(
                "{\"id\":%s,\"verdict\":\"%s\",\"nanoseconds\":[%s],\"shared_secret\":\"%s\"}%n",
                request.fields.get("id"), verdict, nanoseconds, request.sharedSecret);
            System.out.flush();
        }
    }
}
