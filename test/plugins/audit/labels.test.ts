import { describe, expect, test } from 'vitest';
import { auditRules } from 'parley-forum/ports/audit';
import { Web } from 'parley-forum/plugins/web';
import { useForum } from '../discussions/forum.ts';
import { settled } from './settled.ts';

const forum = useForum();

describe('the names of audit actions', () => {
  test('exist for every action that can leave an entry, in the texts of the plugin that owns it', () => {
    const { app } = forum.app;
    const web = app.service(Web);
    const keys = app.extensions
      .read(auditRules)
      .flatMap(({ plugin, value }) => value.actions.map((action) => `${plugin}:audit.${action}`));
    expect(keys.length).toBeGreaterThan(70);
    expect([...keys, 'audit:audit.audit.forgotten'].filter((key) => web.text(key) === key)).toEqual([]);
    // Each action has one owner: otherwise it would be unclear whose text is shown.
    const owners = Map.groupBy(
      app.extensions
        .read(auditRules)
        .flatMap(({ plugin, value }) => value.actions.map((action) => ({ plugin, action }))),
      ({ action }) => action,
    );
    expect([...owners].filter(([, all]) => new Set(all.map(({ plugin }) => plugin)).size > 1)).toEqual([]);
  });

  test('are shown on the page and in its filter, which uses the id', async () => {
    await settled(forum.app);
    const { text } = await forum.as.root.get('/admin/audit?action=account.logged-in');
    expect(text).toContain('<h2>Logged in</h2>');
    expect(text).toContain('<code>account.logged-in</code>');
    expect(text).toMatch(/<option value="account\.logged-in" selected>Logged in \(account\.logged-in\)<\/option>/);
    expect(text).not.toContain('<h2>Account created</h2>');
  });
});
