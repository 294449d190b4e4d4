/** The path of the sitemap or, if it is split, of the index of its parts. */
export const SITEMAP = '/sitemap.xml';
