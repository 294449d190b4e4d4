import type { Plugin } from '../../../core/plugins/definition.ts';
import type { Tokens } from '../../../core/ref.ts';
import { importsOfContracts } from '../checks/dependents.ts';
import { PLATFORM } from '../checks/support/platform.ts';

/** The path of the architecture diagram. */
export const ARCHITECTURE = 'docs/architecture.md';

/**
 * Shows which plugins need services of, or import values from, which others; omits the plugins that all others build
 * on.
 */
export function architecturePage(
  root: string,
  plugins: readonly Plugin[],
): readonly [introduction: string, body: string] {
  const features = plugins
    .map(({ id }) => id)
    .filter((id) => !PLATFORM.includes(id))
    .sort();
  const tokens = (record: Tokens | undefined): readonly string[] => Object.values(record ?? {}).map(({ id }) => id);
  const providers = new Map(plugins.flatMap(({ id, provides }) => tokens(provides).map((token) => [token, id])));
  const needs = new Map(
    plugins.map((plugin) => [plugin.id, tokens(plugin.needs).map((token) => providers.get(token))]),
  );
  const edges = features.flatMap((id) => {
    const below = new Set([...(needs.get(id) ?? []), ...importsOfContracts(root, id).map(({ plugin }) => plugin)]);
    return features.filter((other) => other !== id && below.has(other)).map((other) => [id, other] as const);
  });
  const bound = new Set(edges.flat());
  const free = features.filter((id) => !bound.has(id));
  const introduction = `A request enters through the host, is matched to a route in the kernel's table, and is handled by a plugin. Everything that can be a plugin is one;
the kernel knows services, hooks, extension points, routes, data, jobs and settings, but no term specific to forums. Imports point
downwards only, which \`npm run check\` enforces:

1. **Kernel** (\`core/\`, imported as \`parley-forum\`) imports no plugin.
2. **Ports** (\`plugins/ports/\`, \`parley-forum/ports/<name>\`) contain what several plugins agree on: the entries of the audit log, personal data,
   notifications, emails. They are refs and types on top of the kernel, and nothing else.
3. **Platform**: ${PLATFORM.map((id) => `\`${id}\``).join(', ')}. These build on the kernel, ports and each other.
4. **Features** build on all of these, and on another feature only if they need one of its services
   or make no sense without it. Deleting a feature's folder removes that feature and those above it in the diagram, and nothing else;
   the removed plugins are listed in one line at startup.

An arrow reads "is built on". The diagram is generated from what plugins need and import today.`;
  const body = `\`\`\`mermaid
flowchart BT
${edges.map(([from, to]) => `  ${from} --> ${to}`).join('\n')}
  subgraph platform [every feature is built on the platform, ports and the kernel]
    ${PLATFORM.map((id) => `p-${id}["${id}"]`).join('\n    ')}
  end
  discussions --> platform
\`\`\`

Features that neither build on another feature nor have one built on them: ${free.map((id) => `\`${id}\``).join(', ')}.`;
  return [introduction, body];
}
