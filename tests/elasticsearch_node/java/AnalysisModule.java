import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.core.WhitespaceTokenizer;
import org.apache.lucene.analysis.email.UAX29URLEmailTokenizer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.en.EnglishPossessiveFilter;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.miscellaneous.RemoveDuplicatesTokenFilter;
import org.apache.lucene.analysis.pattern.PatternCaptureGroupTokenFilter;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.analysis.AbstractIndexAnalyzerProvider;
import org.elasticsearch.index.analysis.AbstractTokenFilterFactory;
import org.elasticsearch.index.analysis.AbstractTokenizerFactory;
import org.elasticsearch.index.analysis.AnalyzerProvider;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;

/**
 * What the index of the security module and an English text field need of the module analysis-common, which is not
 * published: Lucene's own classes under the names that Elasticsearch gives them.
 */
public final class AnalysisModule extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        return Map.of("english", (index, environment, name, settings) -> new English(name));
    }

    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of(
            "uax_url_email", (index, environment, name, settings) -> tokenizer(name, UAX29URLEmailTokenizer::new),
            "whitespace", (index, environment, name, settings) -> tokenizer(name, WhitespaceTokenizer::new)
        );
    }

    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of(
            "asciifolding", (index, environment, name, settings) -> filter(name, ASCIIFoldingFilter::new),
            "pattern_capture", (index, environment, name, settings) -> patternCapture(name, settings),
            "porter_stem", (index, environment, name, settings) -> filter(name, PorterStemFilter::new),
            "stemmer", (index, environment, name, settings) -> stemmer(name, settings),
            "unique", (index, environment, name, settings) -> filter(name, RemoveDuplicatesTokenFilter::new)
        );
    }

    private static TokenFilterFactory patternCapture(String name, Settings settings) {
        Pattern[] patterns = settings.getAsList("patterns").stream().map(Pattern::compile).toArray(Pattern[]::new);
        boolean keep = settings.getAsBoolean("preserve_original", true);
        return filter(name, tokens -> new PatternCaptureGroupTokenFilter(tokens, keep, patterns));
    }

    private static TokenFilterFactory stemmer(String name, Settings settings) {
        String language = settings.get("language", settings.get("name", "english"));
        return switch (language) {
            case "english", "porter" -> filter(name, PorterStemFilter::new);
            case "possessive_english" -> filter(name, EnglishPossessiveFilter::new);
            default -> throw new IllegalArgumentException("this node has no stemmer for [" + language + "]");
        };
    }

    private static TokenizerFactory tokenizer(String name, Supplier<Tokenizer> made) {
        return new AbstractTokenizerFactory(name) {
            @Override
            public Tokenizer create() {
                return made.get();
            }
        };
    }

    private static TokenFilterFactory filter(String name, UnaryOperator<TokenStream> wrapped) {
        return new AbstractTokenFilterFactory(name) {
            @Override
            public TokenStream create(TokenStream tokens) {
                return wrapped.apply(tokens);
            }
        };
    }

    private static final class English extends AbstractIndexAnalyzerProvider<Analyzer> {
        private final Analyzer analyzer = new EnglishAnalyzer();

        English(String name) {
            super(name);
        }

        @Override
        public Analyzer get() {
            return analyzer;
        }
    }
}
