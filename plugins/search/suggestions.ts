import { Type, type Clock, type PluginHandle } from 'parley-forum';
import { api, combineTags, nullable } from 'parley-forum/plugins/api';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Bucket } from 'parley-forum/plugins/limits';
import { suggestionSources } from 'parley-forum/ports/suggestions';
import { phrase, type Web } from 'parley-forum/plugins/web';
import { meant, respelt, typedWords } from './query/spelling.ts';

/** Rate limit for requests while the user is typing. */
export const SUGGESTIONS_BUCKET: Bucket & { readonly limit: string } = {
  name: 'suggestions',
  window: 60,
  limit: 'search.suggestion_rate_limit',
};
/** Maximum number of suggestions of each kind. */
const MOST = 5;
/** Maximum number of names of each kind with a word of similar spelling. */
const MOST_ALIKE = 20;
/** Milliseconds after which a kind that responds slowly is left out. */
const TIMEOUT = 500;
/** Milliseconds for which a response is cached, although newer suggestions may be better. */
const MAX_AGE = 60_000;
const MIN_LETTERS = 2;

const Suggestions = Type.Object({
  of: Type.String({ description: 'Id of the plugin that suggests them' }),
  kind: Type.String({ description: 'What they are, such as `discussions` or `categories`' }),
  label: Type.String(),
  suggestions: Type.Array(Type.Object({ label: Type.String(), path: Type.String(), detail: nullable(Type.String()) })),
});

/**
 * GET /api/search/suggestions: suggestions of other plugins while the user is typing. Guests' responses are cached by
 * the text typed.
 */
export function addSuggestions(plugin: PluginHandle, { clock, web }: { clock: Clock; web: Web | undefined }): void {
  plugin.route(api, {
    method: 'get',
    path: '/search/suggestions',
    can: 'public',
    summary: 'Discussions, categories, members and tags whose names begin with what is being typed',
    query: Type.Object({
      q: Type.String({ pattern: '\\S', maxLength: 100, description: 'Beginnings of words; at least two letters' }),
    }),
    result: Type.Object({ groups: Type.Array(Suggestions) }),
    options: { bucket: SUGGESTIONS_BUCKET },
    cacheTags: () => combineTags([], plugin.extensions(suggestionSources)),
  })(async (call) => {
    const { actor, query } = call;
    const text = query.q.toWellFormed().toLowerCase().trim().replace(/\s+/g, ' ');
    call.expiresAt = clock.now() + MAX_AGE;
    if (!text.split(' ').some((word) => word.length >= MIN_LETTERS)) return { groups: [] };
    const groups = await Promise.all(
      plugin.extensions(suggestionSources).map(async ({ plugin: id, value }) => {
        const find = () => value.find(text, actor, MOST);
        const found = (await plugin.attempt(id, `suggestions ${value.label}`, find, TIMEOUT)) ?? [];
        const suggestions = found.map(({ label, path, detail = null }) => ({ label, path, detail }));
        return { of: id, kind: value.kind ?? id, label: web?.text(value.label) ?? value.label, suggestions };
      }),
    );
    return { groups: groups.filter(({ suggestions }) => suggestions.length > 0) };
  });
}

/**
 * The headings of suggestions in the language of the current request, as JSON, by their labels in the API, which are in
 * the site's language; undefined if both are the same.
 */
export function headingsOf(plugin: PluginHandle, web: Web): string | undefined {
  const said = plugin
    .extensions(suggestionSources)
    .map(({ value: { label } }) => [web.text(label), web.say(phrase(label))] as const)
    .filter(([label, heading]) => label !== heading);
  return said.length > 0 ? JSON.stringify(Object.fromEntries(said)) : undefined;
}

/**
 * The query with corrected spelling, based on names that the viewer may see; undefined if its words are correct or
 * unknown.
 */
export async function probablyMeant(plugin: PluginHandle, q: string, viewer: Viewer): Promise<string | undefined> {
  const words = await Promise.all(
    typedWords(q).map(async (typed) => {
      const names = plugin.extensions(suggestionSources).map(({ plugin: id, value }) => {
        const find = () => value.alike?.(typed, viewer, MOST_ALIKE) ?? [];
        return plugin.attempt(id, `spellings ${value.label}`, find, TIMEOUT);
      });
      return [
        typed.word,
        meant(
          typed,
          (await Promise.all(names)).flatMap((found) => found ?? []),
        ),
      ] as const;
    }),
  );
  const other = new Map(words.flatMap(([word, right]) => (right === undefined ? [] : [[word, right] as const])));
  return other.size > 0 ? respelt(q, other) : undefined;
}
