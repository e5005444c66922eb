import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * Runs one node in this JVM until it is told to end, or until the process that it was started for is gone.
 *
 * Arguments: the folder with lib, modules and plugins; the folder with the configuration; the id of the process to
 * live as long as, or 0 for none.
 */
public final class Launcher {
    private Launcher() {}

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Path configuration = Path.of(arguments[1]);
        liveAsLongAs(Long.parseLong(arguments[2]));

        Settings settings = Settings.builder()
            .loadFromPath(configuration.resolve("elasticsearch.yml"))
            .put("path.home", home)
            .build();
        String name = Node.NODE_NAME_SETTING.get(settings);
        LogConfigurator.setNodeName(name);
        Environment environment =
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), configuration, () -> name);
        LogConfigurator.registerErrorListener();
        LogConfigurator.configure(environment, true);

        // The server's classes come from the class path and not from a named module, which would need exports.
        boolean exports = false;
        Node node = new Node(
            environment,
            PluginsLoader.createPluginsLoader(
                PluginsLoader.loadModulesBundles(environment.modulesDir(), true),
                PluginsLoader.loadPluginsBundles(environment.pluginsDir(), true),
                Map.of(),
                exports
            )
        );
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
        node.start();
        new CountDownLatch(1).await();
    }

    private static void liveAsLongAs(long process) {
        if (process == 0) {
            return;
        }
        ProcessHandle.of(process)
            .orElseThrow(() -> new IllegalStateException("process " + process + " is gone"))
            .onExit()
            .thenRun(() -> System.exit(0));
    }

    private static void close(Node node) {
        try {
            node.close();
        } catch (Exception failure) {
            failure.printStackTrace();
        }
    }
}
