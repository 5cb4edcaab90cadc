--- Client of `acp-registry rpc` for Neovim 0.7 and later, without dependencies.
local M = {}

local uv = vim.uv or vim.loop

---@class acp_registry.Launch How a version of an agent starts; results have more members.
---@field id string
---@field version string
---@field program string
---@field args string[]
---@field env table<string, string>

---@class acp_registry.Error
---@field code integer -32800 if the request was cancelled
---@field message string
---@field data { code: string, help?: string, suggestions: string[], parameter?: string, result?: table }

---@class acp_registry.Process
---@field write fun(text: string)
---@field close fun() closes its stdin
---@field kill fun()

--- Starts a program with pipes. `on_line` gets each line of its stdout, and `on_exit` its exit code after the last line.
---@return acp_registry.Process
local function spawn(program, args, env, on_line, on_exit)
  local stdin, stdout, rest, left, exit_code = uv.new_pipe(), uv.new_pipe(), '', 2, nil
  local function ended()
    left = left - 1
    if left == 0 then vim.schedule(function() on_exit(exit_code) end) end
  end
  -- The third stream is the stderr of Neovim.
  local handle, problem
  handle, problem = uv.spawn(program, { args = args, env = env, stdio = { stdin, stdout, 2 }, hide = true }, function(code)
    exit_code = code
    handle:close()
    ended()
  end)
  if not handle then error(program .. ' cannot be started: ' .. problem) end
  stdout:read_start(function(_, data)
    if not data then
      stdout:close()
      return ended()
    end
    local lines = vim.split(rest .. data, '\n', { plain = true })
    rest = table.remove(lines)
    for _, line in ipairs(lines) do
      vim.schedule(function() on_line(line) end)
    end
  end)
  return {
    write = function(text)
      if not stdin:is_closing() then stdin:write(text) end
    end,
    close = function()
      if not stdin:is_closing() then stdin:shutdown(function() stdin:close() end) end
    end,
    kill = function()
      if not handle:is_closing() then handle:kill('sigterm') end
    end,
  }
end

---@class acp_registry.Registry
local Registry = {}
Registry.__index = Registry

--- Starts `acp-registry rpc`.
---@param options? { program?: string, args?: string[] }
---@return acp_registry.Registry
function M.start(options)
  local self = setmetatable({ calls = {}, last = 0, ended = nil }, Registry)
  local args = vim.list_extend({ 'rpc' }, options and options.args or {})
  local program = options and options.program or 'acp-registry'
  self.process = spawn(program, args, nil, function(line) self:_receive(line) end, function(code) self:_end(code) end)
  return self
end

--- Sends a request. The callbacks may call all functions of Neovim.
---@param method string
---@param params? table
---@param callback fun(error?: acp_registry.Error, result?: table)
---@param on_event? fun(event: table) gets the progress
---@return integer id to cancel the request
function Registry:request(method, params, callback, on_event)
  self.last = self.last + 1
  if self.ended then
    vim.schedule(function() callback(self.ended) end)
    return self.last
  end
  self.calls[self.last] = { callback = callback, on_event = on_event }
  if params == nil or next(params) == nil then params = vim.empty_dict() end
  self:_send({ id = self.last, method = method, params = params })
  return self.last
end

--- Asks to cancel a request, which then fails with the code -32800 unless it has ended.
---@param id integer
function Registry:cancel(id) self:_send({ method = '$/cancel_request', params = { requestId = id } }) end

--- Lets requests that only read finish, cancels all others, and ends the process.
function Registry:close() self.process.close() end

function Registry:_send(message)
  message.jsonrpc = '2.0'
  self.process.write(vim.json.encode(message) .. '\n')
end

function Registry:_receive(line)
  local message = vim.json.decode(line, { luanil = { object = true, array = true } })
  local id = message.method and message.params.requestId or message.id
  -- The answer to a line that could not be read, which may have been any request.
  if not id then return self:_fail(message.error) end
  local call = self.calls[id]
  if not call then return end
  if message.method then
    if call.on_event then call.on_event(message.params.event) end
  else
    self.calls[id] = nil
    call.callback(message.error, message.result)
  end
end

function Registry:_end(code)
  self.ended = { code = -32603, message = 'acp-registry has ended (exit code ' .. code .. ')', data = {} }
  self:_fail(self.ended)
end

function Registry:_fail(error)
  local calls = self.calls
  self.calls = {}
  for _, call in pairs(calls) do
    -- An error in one of them must not keep the others from being called.
    vim.schedule(function() call.callback(error) end)
  end
end

--- Starts an installed agent. `on_line` gets its messages of the Agent Client Protocol, one per line.
---@param agent acp_registry.Launch
---@param on_line fun(line: string)
---@param on_exit? fun(code: integer)
---@return acp_registry.Process
function M.launch(agent, on_line, on_exit)
  -- The variables of the user have precedence.
  local env, variables = {}, vim.tbl_extend('force', agent.env, vim.fn.environ())
  if (vim.env.PATH or '') ~= '' then
    local separator = vim.fn.has('win32') == 1 and ';' or ':'
    variables.PATH = table.concat(vim.list_extend({ vim.env.PATH }, agent.path or {}), separator)
  end
  for name, value in pairs(variables) do
    table.insert(env, name .. '=' .. value)
  end
  return spawn(agent.program, agent.args, env, on_line, on_exit or function() end)
end

return M
