-- Writes what a Discourse forum has as lines for `parley import`:
--   psql --no-align --tuples-only --file discourse.sql discourse > forum.jsonl

-- Members, but for those of the program itself.
select json_strip_nulls(json_build_object(
    'kind', 'member', 'id', u.id, 'username', u.username, 'email', e.email,
    'name', nullif(left(u.name, 50), ''), 'bio', left(p.bio_raw, 1000),
    'joined_at', to_char(u.created_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
  from users u
  join user_emails e on e.user_id = u.id and e."primary"
  left join user_profiles p on p.user_id = u.id
  where u.id > 0
  order by u.id;

-- Categories, those above before those below: two levels of them, and slugs that stand below several have that above in
-- front. What not everyone may read is for staff, until you say otherwise.
select json_strip_nulls(json_build_object(
    'kind', 'category', 'id', c.id, 'name', left(c.name, 80), 'parent', coalesce(a.parent_category_id, a.id),
    'slug', nullif(case when count(*) over (partition by lower(c.slug)) > 1 then concat_ws('-', a.slug, c.slug) else c.slug end, ''),
    'view', case when c.read_restricted then 'staff' else 'everyone' end))
  from categories c
  left join categories a on a.id = c.parent_category_id
  order by c.parent_category_id is not null, c.position, c.id;

-- Discussions with their posts. Numbers of posts have gaps there, so that places are counted anew.
with written as (
  select p.*, row_number() over (partition by p.topic_id order by p.created_at, p.post_number) as place
    from posts p
    where p.deleted_at is null and p.user_id > 0 and p.post_type = 1 and not p.hidden and p.raw ~ '\S'
), liked as (
  select a.post_id, json_agg(distinct a.user_id) as members
    from post_actions a
    where a.post_action_type_id = 2 and a.deleted_at is null and a.user_id > 0
    group by a.post_id
)
select json_strip_nulls(json_build_object(
    'kind', 'discussion', 'id', t.id, 'title', left(t.title, 200), 'category', t.category_id,
    'views', t.views, 'pinned', t.pinned_at is not null, 'locked', t.closed,
    'tags', (select json_agg(left(g.name, 30) order by g.name) from topic_tags k join tags g on g.id = k.tag_id
      where k.topic_id = t.id),
    'posts', (select json_agg(json_build_object(
          'author', w.user_id, 'content', w.raw,
          'created_at', to_char(w.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'reply_to', (select r.place from written r
            where r.topic_id = t.id and r.post_number = w.reply_to_post_number and r.place < w.place),
          'likes', (select l.members from liked l where l.post_id = w.id)) order by w.place)
      from written w where w.topic_id = t.id)))
  from topics t
  where t.archetype = 'regular' and t.deleted_at is null and t.visible and t.category_id is not null
    and exists (select from written w where w.topic_id = t.id)
  order by t.created_at, t.id;
