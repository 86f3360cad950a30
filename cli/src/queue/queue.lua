-- The queue of evaluations in a Redis server: each call is one transaction. The keys are listed in
-- docs/internals/protocols.md. Times are microseconds of the server's clock, as decimal texts: a number
-- of Lua holds them, but would be written with an exponent.
local P = '{flor}:'
local HEAD, LEASED, HOLDERS, NEWS = P .. 'head', P .. 'leased', P .. 'holders', P .. 'news'
local IDS, EVALUATORS, DROPPED = P .. 'ids', P .. 'evaluators', P .. 'dropped'
local QUEUED, TAKEN, FAILED, DONE, DEAD, CANCELLED = '0', '1', '2', '3', '4', '5'
local call = redis.call

local at = 0
local function arg()
  at = at + 1
  return ARGV[at]
end
local function number() return tonumber(arg()) end
local function list()
  local all = {}
  for i = 1, number() do all[i] = arg() end
  return all
end
local function text(value) return string.format('%.0f', value) end
local function job(id) return P .. 'job:' .. id end
-- Of the same length, so that members of the same score are in the order of their numbers.
local function padded(id) return string.format('%016.0f', tonumber(id)) end
local function ready(evaluator) return P .. 'ready:' .. evaluator end
local function waiting(evaluator) return P .. 'waiting:' .. evaluator end
local function all_of(evaluator) return P .. 'all:' .. evaluator end

local command, life, now = arg(), arg(), number()
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
if life ~= '' and call('HGET', HEAD, 'life') ~= life then return 'forgotten' end

-- Never twice the same, though the server came back with an older state: the time has gone on.
local function next_token()
  local token = text(math.max(tonumber(call('HGET', HEAD, 'token') or '0') + 1, now))
  call('HSET', HEAD, 'token', token)
  return token
end

local function ring(from) call('XADD', NEWS, 'MAXLEN', '~', 1000, '*', 'from', from) end

local function await(id, evaluator, due) call('ZADD', waiting(evaluator), text(due), id) end
local function leave(id, evaluator)
  call('ZREM', waiting(evaluator), id)
  call('ZREM', ready(evaluator), padded(id))
end
local function hold(id, owner, untill)
  call('ZADD', LEASED, text(untill), id)
  call('HINCRBY', HOLDERS, owner, 1)
end
local function let_go(id, owner)
  if call('ZREM', LEASED, id) == 0 then return end
  if call('HINCRBY', HOLDERS, owner, -1) <= 0 then call('HDEL', HOLDERS, owner) end
end

local function create(id, what)
  call('HSET', job(id), 'key', what.key, 'content', what.content, 'evaluator', what.evaluator,
       'arguments', what.arguments, 'path', what.path, 'priority', what.priority, 'state', QUEUED,
       'attempts', 0, 'token', 0, 'owner', '', 'added', text(now), 'due', text(now), 'leased', '',
       'until', '', 'finished', '', 'message', '')
  call('HSET', IDS, what.key, id)
  call('ZADD', all_of(what.evaluator), id, id)
  call('ZREM', DROPPED, what.key)
  await(id, what.evaluator, now)
end
local function read_what()
  local what = {content = arg(), evaluator = arg(), arguments = arg(), path = arg(),
                priority = arg()}
  what.key = what.content .. ':' .. what.evaluator .. ':' .. what.arguments
  return what
end
local function new_id(wanted)
  local last = tonumber(call('HGET', HEAD, 'job') or '0')
  if wanted > 0 and call('EXISTS', job(wanted)) == 0 then
    if wanted > last then call('HSET', HEAD, 'job', wanted) end
    return text(wanted)
  end
  call('HSET', HEAD, 'job', last + 1)
  return text(last + 1)
end

local function reopen(id, evaluator, owner, attempts)
  let_go(id, owner)
  call('HSET', job(id), 'state', attempts == '0' and QUEUED or FAILED, 'owner', '', 'due', text(now))
  await(id, evaluator, now)
end
local function finish(id, evaluator, owner, result)
  let_go(id, owner)
  leave(id, evaluator)
  call('HSET', job(id), 'state', DONE, 'owner', '', 'finished', text(now), 'message', '', 'result',
       result)
end
local function fail(id, evaluator, owner, attempts, message, waits, most)
  local failed = tonumber(attempts) + 1
  local dead = failed >= most
  local due = now + tonumber(waits[math.min(failed, #waits)])
  let_go(id, owner)
  call('HSET', job(id), 'state', dead and DEAD or FAILED, 'attempts', failed, 'owner', '', 'due',
       text(due), 'finished', dead and text(now) or '', 'message', message)
  if not dead then await(id, evaluator, due) end
end

local function forget(id, evaluator, owner, key)
  leave(id, evaluator)
  let_go(id, owner)
  call('ZREM', all_of(evaluator), id)
  call('HDEL', IDS, key)
  call('DEL', job(id))
end

-- Reports, additions and leases, see JobQueue::exchange.
local function take_report(lease_us, most)
  local id, token, kind, said, waits = arg(), arg(), arg(), arg(), list()
  local found = call('HMGET', job(id), 'state', 'token', 'evaluator', 'owner', 'attempts', 'key')
  local evaluator, owner, attempts = found[3], found[4], found[5]
  if found[1] ~= TAKEN or found[2] ~= token then return 0 end
  if kind == 'alive' then
    call('HSET', job(id), 'until', text(now + lease_us), 'term', text(lease_us))
    call('ZADD', LEASED, text(now + lease_us), id)
  elseif kind == 'done' then
    finish(id, evaluator, owner, said)
  elseif kind == 'failed' then
    fail(id, evaluator, owner, attempts, said, waits, most)
  elseif kind == 'gone' then
    forget(id, evaluator, owner, found[6])
  else
    reopen(id, evaluator, owner, attempts)
  end
  return 1
end

-- The server may have evicted a job: then it is as if it had never been.
local function find(what)
  local id = call('HGET', IDS, what.key)
  if not id or call('EXISTS', job(id)) == 1 then return id end
  leave(id, what.evaluator)
  call('ZREM', all_of(what.evaluator), id)
  call('ZREM', LEASED, id)
  return nil
end

local function add()
  local what = read_what()
  local id = find(what)
  if not id then
    id = new_id(0)
    create(id, what)
    return {1, id}
  end
  local found = call('HMGET', job(id), 'state', 'path')
  local state, path = found[1], found[2]
  -- Where it was found last is where it can still be found.
  if state == QUEUED or state == FAILED then call('HSET', job(id), 'path', what.path) end
  return {0, id, path ~= what.path and path or ''}
end

-- A lease that nobody prolonged in time is extended once, so that after a pause of everybody who
-- lives prolongs its leases before they are taken: then it ends when the job is due.
local function take_away(dead, lease_us)
  local is_dead = {}
  for _, owner in ipairs(dead) do is_dead[owner] = true end
  local ids = call('ZRANGE', LEASED, '-inf', text(now), 'BYSCORE')
  if #dead > 0 then ids = call('ZRANGE', LEASED, 0, -1) end
  for _, id in ipairs(ids) do
    local found = call('HMGET', job(id), 'evaluator', 'owner', 'attempts', 'until', 'due')
    local is_over = found[4] and tonumber(found[4]) <= now
    if not found[1] then
      call('ZREM', LEASED, id)
    elseif is_dead[found[2]] or (is_over and found[4] == found[5]) then
      reopen(id, found[1], found[2], found[3])
    elseif is_over then
      local untill = text(now + math.max(1, math.floor(lease_us / 2)))
      call('HSET', job(id), 'until', untill, 'due', untill)
      call('ZADD', LEASED, untill, id)
    end
  end
end

local function make_ready(evaluator)
  for _, id in ipairs(call('ZRANGE', waiting(evaluator), '-inf', text(now), 'BYSCORE')) do
    local priority = call('HGET', job(id), 'priority')
    if priority then call('ZADD', ready(evaluator), text(-tonumber(priority)), padded(id)) end
    call('ZREM', waiting(evaluator), id)
  end
end

local function newest(evaluator, count)
  local chosen, key = {}, ready(evaluator)
  local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  while first[2] and #chosen < count do
    local score = first[2]
    local found = call('ZRANGE', key, score, score, 'BYSCORE', 'REV', 'LIMIT', 0, count - #chosen)
    for _, id in ipairs(found) do chosen[#chosen + 1] = id end
    first = call('ZRANGE', key, '(' .. score, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  end
  return chosen
end

local function give(id, owner, lease_us)
  id = text(tonumber(id))
  local token = next_token()
  local found = call('HMGET', job(id), 'attempts', 'content', 'evaluator', 'arguments', 'path',
                     'priority')
  leave(id, found[3])
  hold(id, owner, now + lease_us)
  call('HSET', job(id), 'state', TAKEN, 'token', token, 'owner', owner, 'leased', text(now),
       'until', text(now + lease_us), 'term', text(lease_us))
  return {id, token, found[1], found[2], found[3], found[4], found[5], found[6]}
end

-- What `bisect` is to choose from: number, priority and whether it is open, one after the other.
local function places(evaluator)
  local found = {}
  for _, id in ipairs(call('ZRANGE', all_of(evaluator), 0, -1)) do
    local seen = call('HMGET', job(id), 'state', 'priority', 'due')
    local open = (seen[1] == QUEUED or seen[1] == FAILED) and tonumber(seen[3]) <= now
    if open or seen[1] == TAKEN or seen[1] == DONE then
      found[#found + 1] = id
      found[#found + 1] = seen[2]
      found[#found + 1] = open and '1' or '0'
    end
  end
  return found
end

local function lease(owner, lease_us, leases)
  local evaluator, count, order, wanted = arg(), number(), arg(), list()
  make_ready(evaluator)
  local ids = {}
  if order == 'bisect' then return places(evaluator) end
  if order == 'these' then
    for _, id in ipairs(wanted) do
      if call('ZSCORE', ready(evaluator), padded(id)) then ids[#ids + 1] = id end
    end
  elseif count > 0 and order == 'newest' then
    ids = newest(evaluator, count)
  elseif count > 0 then
    ids = call('ZRANGE', ready(evaluator), 0, count - 1)
  end
  for _, id in ipairs(ids) do
    if call('EXISTS', job(text(tonumber(id)))) == 1 then
      leases[#leases + 1] = give(id, owner, lease_us)
    else
      call('ZREM', ready(evaluator), id)
    end
  end
  return {}
end

-- When there may be more to lease without anything being added.
local function next_time(evaluators, owner)
  local first = math.huge
  for _, evaluator in ipairs(evaluators) do
    if call('ZCARD', ready(evaluator)) > 0 then return text(now) end
    local due = call('ZRANGE', waiting(evaluator), 0, 0, 'WITHSCORES')
    if due[2] then first = math.min(first, tonumber(due[2])) end
  end
  local wanted = {}
  for _, evaluator in ipairs(evaluators) do wanted[evaluator] = true end
  if call('HLEN', HOLDERS) > call('HEXISTS', HOLDERS, owner) then
    for _, id in ipairs(call('ZRANGE', LEASED, 0, -1)) do
      local found = call('HMGET', job(id), 'evaluator', 'owner', 'until')
      if found[1] and wanted[found[1]] and found[2] ~= owner then
        first = math.min(first, tonumber(found[3]))
        break
      end
    end
  end
  return first == math.huge and '' or text(first)
end

-- Leases are given only if it is known of every holder whether it lives.
local function strangers(owner, alive, dead)
  local known, found = {[owner] = true}, {}
  for _, other in ipairs(alive) do known[other] = true end
  for _, other in ipairs(dead) do known[other] = true end
  for _, other in ipairs(call('HKEYS', HOLDERS)) do
    if not known[other] then found[#found + 1] = other end
  end
  return found
end

local function exchange()
  local owner, id, lease_us, most = arg(), arg(), number(), number()
  local last = P .. 'last:' .. owner
  if owner ~= '' then
    -- The reply was lost, or could not be written down: it is given again, nothing is done twice.
    local before = call('HMGET', last, 'id', 'reply')
    if before[1] == id then
      call('EXPIRE', last, 86400)
      return cmsgpack.unpack(before[2])
    end
  end
  local alive, dead = list(), list()
  local accepted, added, leases, found, evaluators = {}, {}, {}, {}, {}
  for i = 1, number() do accepted[i] = take_report(lease_us, most) end
  local new = 0
  for i = 1, number() do
    added[i] = add()
    new = new + added[i][1]
  end
  local requests, unknown, next_us = number(), {}, ''
  if requests > 0 then
    unknown = strangers(owner, alive, dead)
    if #unknown == 0 then
      take_away(dead, lease_us)
      for i = 1, requests do
        evaluators[i] = ARGV[at + 1]
        found[i] = lease(owner, lease_us, leases)
      end
      next_us = next_time(evaluators, owner)
    end
  end
  if new > #leases then ring(owner) end
  local reply = {accepted, added, leases, next_us, text(now), unknown,
                 call('HKEYS', HOLDERS), found}
  if owner ~= '' then
    call('HSET', last, 'id', id, 'reply', cmsgpack.pack(reply))
    call('EXPIRE', last, 86400)
  end
  return reply
end

-- Begins a life of the queue where there is none, or where the server was started anew, since it may
-- have lost what came last. Nobody could prolong a lease meanwhile: all get the time to do so.
local function attach()
  local server, lease_us = arg(), number()
  local found = call('HMGET', HEAD, 'life', 'server')
  if found[1] and found[2] == server then return found[1] end
  local begun = text(math.max(now, tonumber(found[1] or '0') + 1))
  call('HSET', HEAD, 'life', begun, 'server', server)
  for _, id in ipairs(call('ZRANGE', LEASED, 0, -1)) do
    local found = call('HMGET', job(id), 'state', 'term', 'until')
    -- As long as its holder has it, not as long as who notices would.
    local untill = now + tonumber(found[2] or lease_us)
    if found[1] and tonumber(found[3]) < untill then
      call('HSET', job(id), 'until', text(untill))
      call('ZADD', LEASED, text(untill), id)
    end
  end
  return begun
end

-- What a machine remembers of a job: for each its number, state, and the result if that is another
-- than what the machine has. If `again`, what the queue has forgotten is added.
local function offer_one(again, owner, lease_us)
  local what, wanted, result, token, held = read_what(), number(), arg(), arg(), arg()
  local id, created, told = find(what), 0, 0
  if not id then
    if not again or call('ZSCORE', DROPPED, what.key) then return {'', '', '', '', '', 0, 0} end
    id, created = new_id(wanted), 1
    create(id, what)
  end
  local found = call('HMGET', job(id), 'state', 'owner', 'token')
  if again and result ~= '' and found[1] ~= DONE then
    finish(id, what.evaluator, found[2], result)
    call('HSET', job(id), 'token', token)
    told = 1
  elseif held ~= '' and (found[1] == QUEUED or found[1] == FAILED) then
    leave(id, what.evaluator)
    hold(id, owner, now + lease_us)
    call('HSET', job(id), 'state', TAKEN, 'token', held, 'owner', owner, 'leased', text(now),
         'until', text(now + lease_us), 'term', text(lease_us))
  end
  found = call('HMGET', job(id), 'state', 'token', 'attempts', 'result')
  return {id, found[1], found[2], found[3],
          found[1] == DONE and found[2] ~= token and found[4] or '', created, told}
end
local function offer()
  local owner, again, lease_us = arg(), arg() == '1', number()
  for _ = 1, number() do
    local id, spec = arg(), arg()
    call('HSET', EVALUATORS, id, spec)
  end
  local replies, created = {}, 0
  for i = 1, number() do
    replies[i] = offer_one(again, owner, lease_us)
    created = created + replies[i][6]
  end
  if created > 0 then ring(owner) end
  return replies
end

local function evaluator()
  call('HSET', EVALUATORS, arg(), arg())
  return 1
end
local function evaluators() return call('HGETALL', EVALUATORS) end

local function every_id()
  local ids = {}
  for _, evaluator in ipairs(call('HKEYS', EVALUATORS)) do
    for _, id in ipairs(call('ZRANGE', all_of(evaluator), 0, -1)) do ids[#ids + 1] = id end
  end
  return ids
end

local function rows()
  local found = {}
  for i, id in ipairs(list()) do
    found[i] = call('HMGET', job(id), 'token', 'content', 'evaluator', 'arguments', 'path',
                    'priority', 'state', 'attempts', 'owner', 'added', 'due', 'leased', 'until',
                    'finished', 'message', 'result')
  end
  return found
end

local function changes()
  return {
    retry = function(id, seen)
      if seen.state ~= FAILED and seen.state ~= DEAD and seen.state ~= CANCELLED then return 0 end
      leave(id, seen.evaluator)
      call('HSET', job(id), 'state', QUEUED, 'attempts', 0, 'due', 0, 'finished', '', 'message', '')
      await(id, seen.evaluator, 0)
      return 1
    end,
    cancel = function(id, seen)
      if seen.state == DONE or seen.state == CANCELLED then return 0 end
      leave(id, seen.evaluator)
      let_go(id, seen.owner)
      call('HSET', job(id), 'state', CANCELLED, 'token', next_token(), 'owner', '', 'finished',
           text(now))
      return 1
    end,
    drop = function(id, seen)
      forget(id, seen.evaluator, seen.owner, seen.key)
      -- For 30 days a machine that remembers the job does not bring it back.
      call('ZADD', DROPPED, text(now), seen.key)
      call('ZREMRANGEBYSCORE', DROPPED, '-inf', text(now - 30 * 86400 * 1000000))
      return 1
    end,
  }
end
local function change()
  local action, state, evaluator, ids = arg(), arg(), arg(), list()
  if #ids == 0 then ids = every_id() end
  local count = 0
  for _, id in ipairs(ids) do
    local found = call('HMGET', job(id), 'state', 'evaluator', 'owner', 'key')
    local seen = {state = found[1], evaluator = found[2], owner = found[3], key = found[4]}
    if seen.state and (state == '' or seen.state == state) and
        (evaluator == '' or seen.evaluator == evaluator) then
      count = count + changes()[action](id, seen)
    end
  end
  if count > 0 then ring('') end
  return count
end

local commands = {attach = attach, offer = offer, exchange = exchange, evaluator = evaluator,
                  evaluators = evaluators, ids = every_id, rows = rows, change = change}
return commands[command]()
