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
  const introduction = `A request comes in through the host, finds its route in the kernel's table, and is answered by a plugin. Whatever can be a plugin is one;
the kernel knows services, hooks, extension points, routes, data, jobs and settings, and none of the words of a forum. Imports point
downwards only, which \`npm run check\` holds up:

1. **Kernel** (\`core/\`, imported as \`parley-forum\`) imports no plugin.
2. **Ports** (\`plugins/ports/\`, \`parley-forum/ports/<name>\`) have what several plugins agree on: the entries of the audit log, personal data,
   notifications, emails. Refs and types on top of the kernel, and nothing else.
3. **Platform**: ${PLATFORM.map((id) => `\`${id}\``).join(', ')}. They build on kernel, ports and each other.
4. **Features** build on all of these, and on another feature only where they need a service of it
   or are nothing without it. Deleting a feature's folder removes that feature and what stands above it in the picture, and nothing else;
   the start says in one line which plugins left.

An arrow reads "is built on". It is drawn from what plugins need and import today.`;
  const body = `\`\`\`mermaid
flowchart BT
${edges.map(([from, to]) => `  ${from} --> ${to}`).join('\n')}
  subgraph platform [every feature is built on the platform, ports and the kernel]
    ${PLATFORM.map((id) => `p-${id}["${id}"]`).join('\n    ')}
  end
  discussions --> platform
\`\`\`

Features that no other is built on, and that are built on none: ${free.map((id) => `\`${id}\``).join(', ')}.`;
  return [introduction, body];
}
