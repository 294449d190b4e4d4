import { join, resolve } from 'node:path';
import { startForum, type TestForum, type TestForumOptions } from 'parley-forum/testing';
import cache from '../../../plugins/cache/plugin.ts';
import limits from '../../../plugins/limits/plugin.ts';
import protection from '../../../plugins/protection/plugin.ts';
import secrets from '../../../plugins/secrets/plugin.ts';
import web from '../../../plugins/web/plugin.ts';
import { createGallery, type GalleryLog } from './gallery.ts';
import { visitors } from './visitors.ts';

export interface Gallery extends TestForum {
  readonly log: GalleryLog;
}

const SETTINGS = { 'site.name': 'Test forum', 'pages.part_deadline': 5_000 };

/** The page surface with stand-ins for accounts and access, and a plugin that shows every piece. */
export async function startGallery(options: TestForumOptions = {}): Promise<Gallery> {
  const log: GalleryLog = { batches: [], seen: [] };
  const plugins = [
    cache,
    limits,
    protection,
    secrets,
    visitors,
    { ...web, folder: join(resolve(import.meta.dirname, '../../..'), 'plugins/web') },
    createGallery(log),
  ];
  const app = await startForum({ ...options, plugins, settings: { ...SETTINGS, ...options.settings } });
  return Object.assign(app, { log });
}

export const member = { cookie: 'session=mira' };
